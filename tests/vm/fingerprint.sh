#!/bin/sh
# Everything on this host that a change could be seen in: configuration, units, swap, kernel parameters, limits.
# Volatile files (time stamps of the clock, the journal, what systemd counts) are left out.
find /etc /boot /usr/lib/systemd /usr/lib/sysctl.d /var/lib/systemd -xdev \
    -not -path '*/timesync/*' -not -path '*/random-seed' -not -path '/var/lib/systemd/timers/*' \
    -printf '%p %y %m %u %g %l\n' | sort
find /etc -xdev -type f -exec sha256sum {} + | sort
swapon --show=NAME,SIZE,PRIO,UUID,LABEL --noheadings --bytes
systemctl list-units --all --no-legend --no-pager --plain --type=swap,slice,target
find /proc/sys/vm -type f -readable -exec grep -H . {} + | grep -v -e compact_memory -e drop_caches -e stat_refresh
grep -H . /sys/fs/cgroup/system.slice/memory.swap.max /sys/fs/cgroup/system.slice/cpu.weight
