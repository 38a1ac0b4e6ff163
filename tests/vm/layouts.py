"""Disk layouts that must never become swap, each made by the tools that make them in the field.

Every layout is (serial, size, how to make it on $d, words that its refusal must contain). What cannot be made by a tool
of the image is written by hand from the format's definition.
"""

from __future__ import annotations

from typing import NamedTuple

QUICK_LUKS = "--batch-mode --key-file /root/key --pbkdf pbkdf2 --pbkdf-force-iterations 1000"


class Layout(NamedTuple):
    serial: str
    size: str
    make: str
    refusal: str
    wipeable: bool = True


# File systems are mounted read-only: what their own kernel threads write would look like our doing.
REFUSED = [
    Layout("EXT4", "64M", "mkfs.ext4 -q -L data $d", "carries ext4 labelled 'data'"),
    Layout("XFS", "320M", "mkfs.xfs -q $d", "carries xfs"),
    Layout("BTRFS", "128M", "mkfs.btrfs -q $d", "carries btrfs"),
    Layout("VFAT", "64M", "mkfs.vfat $d", "carries vfat"),
    Layout("SWAP-OTHER", "64M", "mkswap -L other $d", "carries swap labelled 'other'"),
    Layout("SWAP-ACTIVE", "64M", "mkswap -L other $d && swapon $d", "is active swap of another owner", False),
    # The kernel's image header, in place of the swap signature at the end of the first page.
    Layout(
        "HIBERNATED",
        "64M",
        "mkswap $d && printf S1SUSPEND | dd of=$d bs=1 seek=4086 conv=notrunc",
        "holds a hibernation image",
        False,
    ),
    Layout("LUKS1", "64M", f"cryptsetup luksFormat --type luks1 {QUICK_LUKS} $d", "carries crypto_LUKS"),
    Layout("LUKS2", "64M", f"cryptsetup luksFormat --type luks2 {QUICK_LUKS} $d", "carries crypto_LUKS"),
    Layout(
        "LUKS-OPEN",
        "64M",
        f"cryptsetup luksFormat --type luks2 {QUICK_LUKS} $d && cryptsetup open --key-file /root/key $d vault",
        "is held by dm-",
        False,
    ),
    Layout("LVM-PV", "64M", "pvcreate -q $d", "carries LVM2_member"),
    Layout("LVM-LV", "64M", "vgcreate -q vg $d && lvcreate -q -y -n lv -l 100%FREE -Zn vg", "is held by dm-", False),
    *(
        Layout(
            f"MD-{version.replace('.', '')}",
            "64M",
            f"mdadm --create /dev/md/t --run --metadata={version} --level=1 --raid-devices=2 --force $d missing"
            " && mdadm --stop /dev/md/t",
            "carries linux_raid_member",
        )
        for version in ("0.90", "1.0", "1.2")
    ),
    Layout(
        "MD-RUNNING",
        "64M",
        "mdadm --create /dev/md/running --run --metadata=1.2 --level=1 --raid-devices=2 --force $d missing",
        "is held by md",
        False,
    ),
    Layout("GPT-EMPTY", "64M", "sgdisk --clear $d", "carries gpt"),
    Layout("GPT-PARTS", "64M", "sgdisk --clear --new=1:0:+16M --new=2:0:0 $d", "has partitions"),
    Layout(
        "GPT-MOUNTED",
        "64M",
        "sgdisk --clear --new=1:0:0 $d && udevadm settle && mkfs.ext4 -q ${d}-part1"
        " && mkdir -p /mnt/part && mount -o ro ${d}-part1 /mnt/part",
        "is mounted at /mnt/part",
        False,
    ),
    # Only the copy at the end is left, as after a careless wipe of the first sectors.
    Layout(
        "GPT-BACKUP",
        "64M",
        "sgdisk --clear $d && dd if=/dev/zero of=$d bs=512 count=34 conv=notrunc",
        "carries gpt",
    ),
    Layout("MBR", "64M", "echo ',16M,83' | sfdisk -q --label dos $d", "has partitions"),
    Layout("BCACHE", "64M", "make-bcache -B $d || bcache make -B $d", "bcache", False),
    # Eight uberblocks of a ZFS label (magic number 0x00bab10c, 1 KiB apart from 128 KiB on) without the rest. Up to
    # util-linux 2.40 that is zfs_member; newer ones see nothing in it: then it is the content that saves the disk.
    Layout(
        "ZFS",
        "64M",
        "for n in 0 1 2 3 4 5 6 7; do printf '\\014\\261\\272\\000\\000\\000\\000\\000' |"
        " dd of=$d bs=1024 seek=$((128 + n)) conv=notrunc; done",
        "holds data that no known signature explains",
    ),
    Layout("ISO", "64M", "genisoimage -quiet -o /tmp/iso /etc/ssh && dd if=/tmp/iso of=$d bs=1M", "carries iso9660"),
    Layout("SQUASHFS", "64M", "mksquashfs /etc/ssh /tmp/sq -quiet && dd if=/tmp/sq of=$d bs=1M", "carries squashfs"),
    Layout(
        "MOUNTED", "64M", "mkfs.ext4 -q $d && mkdir -p /mnt/disk && mount -o ro $d /mnt/disk", "is mounted at", False
    ),
    Layout(
        "DATA-HELD",
        "64M",
        "dd if=/dev/urandom of=$d bs=1M count=60 && systemd-run --quiet --unit=holder"
        " python3 -c \"import os, signal; os.open('$d', os.O_RDWR | os.O_EXCL); signal.pause()\"",
        "is opened exclusively by another program",
        False,
    ),
    Layout(
        "DATA-RAW",
        "64M",
        "dd if=/dev/urandom of=$d bs=4096 seek=8000 count=4000",
        "holds data that no known signature explains",
    ),
    Layout("READ-ONLY", "64M", "blockdev --setro $d", "is read-only", False),
]

# These are empty, and every one of them works.
BLANK = [("BLANK-1M", "1M"), ("BLANK-ODD", "50332160"), ("BLANK-1G", "1G")]


def device(serial: str) -> str:
    return f"/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_{serial}_1"
