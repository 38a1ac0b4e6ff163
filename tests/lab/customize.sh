#!/usr/bin/env bash
# Turn the tree that mmdebstrap made ($1) into the lab's root file system.
set -euo pipefail
root=$1

# No identity in the shared image: each lab brings its own host key and gets its own machine id.
rm -f "$root"/etc/ssh/ssh_host_* "$root"/etc/hostname
: >"$root/etc/machine-id"

# Nothing here has a use for these, and each costs seconds of every boot under TCG.
systemctl --root="$root" mask --quiet \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    xfs_scrub_all.timer fstrim.timer mdcheck_start.timer mdcheck_continue.timer mdmonitor-oneshot.timer \
    mdmonitor.service nvmefc-boot-connections.service nvmf-autoconnect.service sshd-keygen.service \
    systemd-networkd-wait-online.service getty@tty1.service
systemctl --root="$root" enable --quiet systemd-networkd.service ssh.service
