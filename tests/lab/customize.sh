#!/usr/bin/env bash
# Turn the tree that mmdebstrap made ($1) into the lab's root file system.
set -euo pipefail
root=$1

# No identity in the shared image: each lab brings its own host key and gets its own machine id.
rm -f "$root"/etc/ssh/ssh_host_* "$root"/etc/hostname
: >"$root/etc/machine-id"

# Nothing here has a use for these, and each costs seconds of every boot under TCG.
# (root's user manager: the login session itself stays in user.slice without it.)
systemctl --root="$root" mask --quiet \
    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service \
    xfs_scrub_all.timer fstrim.timer mdcheck_start.timer mdcheck_continue.timer mdmonitor-oneshot.timer \
    mdmonitor.service nvmefc-boot-connections.service nvmf-autoconnect.service sshd-keygen.service \
    lvm2-monitor.service blk-availability.service getty@tty1.service user@0.service
systemctl --root="$root" enable --quiet lab-network.service ssh.service

# Compressed modules are slow to load under TCG.
find "$root"/usr/lib/modules -name '*.ko.xz' -exec unxz {} +
chroot "$root" depmod "$(basename "$root"/usr/lib/modules/*)"
chroot "$root" update-initramfs -u

# The image is complete: nothing to rebuild at the first boot (ldconfig, users, catalogues).
touch "$root/etc/.updated" "$root/var/.updated"
