# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is on a host and wherever a run is cut off: only what was meant is touched, and the next run ends it.

What a device is (free, ours, content at rest, never) is said here by how it was made, not by verdict.py.
"""

from __future__ import annotations

import copy
import math
import typing as t

import pytest
from ansible_collections.virt.hostprep.plugins.module_utils import areas, swap, units
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Action, Command, Plan, RemoveFile, WriteFile
from hypothesis import HealthCheck, Phase, assume, event, find, given, settings
from hypothesis import strategies as st
from support import (
    GIB,
    Device,
    Observed,
    active,
    device,
    formatted,
    holding,
    host,
    partition,
    power_cut,
    shown,
    signature,
    simulate,
    simulate_all,
    swap_signature,
    tear,
    unit_files,
    uuid_of,
    wanted,
)

# What may become of a device.
FREE, OURS, REST, NEVER = "free", "ours", "content at rest", "never"
REST_KINDS = (
    *("ext4", "xfs", "btrfs", "vfat", "iso9660", "squashfs", "crypto_LUKS", "LVM2_member", "linux_raid_member"),
    *("zfs_member", "bcache", "ceph_bluestore", "dos", "gpt"),
)
PRIORITIES = [100, 0, 5, 32767]
DISCARDS = ["none", "once", "pages"]


class World(t.NamedTuple):
    observed: Observed
    fates: dict[str, str]

    def devices(self) -> dict[str, Device]:
        found: dict[str, Device] = self.observed["devices"]
        return found


class Wish(t.NamedTuple):
    """Options, and the devices that they mean, found without selection.py."""

    options: dict[str, t.Any]
    targets: set[str]


class Disk(t.NamedTuple):
    devices: list[Device]
    fates: list[str]
    files: dict[str, str] = {}  # noqa: RUF012  # a named tuple, never changed


# --- disks of every kind ------------------------------------------------------------------------------------------


class Pick:
    """Draws one value for each of several fields at once: one draw of hypothesis instead of many, which are slow."""

    def __init__(self, draw: t.Callable[..., t.Any], **fields: t.Sequence[t.Any]) -> None:
        number = draw(st.integers(0, math.prod(len(values) for values in fields.values()) - 1))
        for name, values in fields.items():
            number, index = divmod(number, len(values))
            setattr(self, name, values[index])

    def __getattr__(self, name: str) -> t.Any:
        raise AttributeError(name)


NO_YES = [False, True]


def free_disk(_draw: st.DrawFn, disk: Device) -> Disk:
    return Disk([disk], [FREE])


def data_disk(_draw: st.DrawFn, disk: Device) -> Disk:
    disk["content"] = "data"
    return Disk([disk], [REST])


def rest_disk(draw: st.DrawFn, disk: Device) -> Disk:
    pick = Pick(draw, first=REST_KINDS, second=[None, "gpt", "zfs_member", "linux_raid_member"])
    kinds = [kind for kind in (pick.first, pick.second) if kind]
    return Disk([holding(disk, *(signature(kind, 512 * n) for n, kind in enumerate(kinds)))], [REST])


def rest_swap_disk(draw: st.DrawFn, disk: Device) -> Disk:
    """Swap of somebody else that is not in use; perhaps with an fstab line."""
    pick = Pick(draw, label=[None, "other", "hostprep2"], fstab=[None, "sw", "pri=100", "discard=once,pri=5"])
    formatted(disk, pick.label, f"00000000-0000-0000-0000-{disk['name']:0>12}")
    if pick.fstab is None:
        return Disk([disk], [REST])
    return Disk([disk], [NEVER], {"/etc/fstab": f"UUID={uuid_of(disk)} none swap {pick.fstab} 0 0\n"})


def hibernated_disk(_draw: st.DrawFn, disk: Device) -> Disk:
    return Disk([holding(disk, signature("swsuspend", 0xFF6, uuid="5" * 8))], [NEVER])


def foreign_swap_disk(draw: st.DrawFn, disk: Device) -> Disk:
    formatted(disk, "other", f"00000000-0000-0000-0000-{disk['name']:0>12}")
    return Disk([active(disk, Pick(draw, priority=[-2, 100]).priority)], [NEVER])


USES: list[dict[str, t.Any]] = [
    {"mounts": ["/srv"], "held": True},
    {"mounts": ["/srv"]},
    {"held": True},
    {"held": None},
    {"holders": ["dm-0"], "held": True},
    {"holders": ["dm-0"]},
]


def used_disk(draw: st.DrawFn, disk: Device) -> Disk:
    """In use in one way or another; blank or not, nobody may have it."""
    pick = Pick(draw, use=USES, content=[[], [signature("ext4")], [signature("LVM2_member")]])
    if pick.content:
        holding(disk, *copy.deepcopy(pick.content))
    disk.update(copy.deepcopy(pick.use))
    return Disk([disk], [NEVER])


def odd_disk(draw: st.DrawFn, disk: Device) -> Disk:
    facts: list[dict[str, t.Any]] = [
        {"read_only": True},
        {"removable": True},
        {"virtual": True},
        {"zoned": True},
        {"state": "dead"},
        {"transport": "usb"},
        {"transport": "iscsi"},
        {"transport": "nvme-tcp"},
        {"size": 4096},
        {"content": "unreadable"},
        {"type": "loop"},
    ]
    disk.update(Pick(draw, facts=facts).facts)
    return Disk([disk], [NEVER])


def partitioned_disk(draw: st.DrawFn, disk: Device) -> Disk:
    """A GPT disk with partitions of which some may be free, hold something, or be in use."""
    kinds = [free_disk, our_disk, rest_disk, data_disk, hibernated_disk, used_disk]
    pick = Pick(draw, first=kinds, second=[None, *kinds])
    parts: list[Device] = []
    fates: list[str] = []
    files: dict[str, str] = {}
    for number, kind in enumerate([pick.first, *([pick.second] if pick.second else [])], start=1):
        made = kind(draw, partition(disk, number))
        parts += made.devices
        fates += made.fates
        files.update(made.files)
    busy = any(part["held"] or part["mounts"] or part["holders"] for part in parts)
    disk["held"] = any(part["held"] for part in parts)  # the kernel gives nobody the whole where a part is in use
    return Disk([disk, *parts], [NEVER if NEVER in fates or busy else REST, *fates], files)


def system_disk(draw: st.DrawFn, disk: Device) -> Disk:
    root, rest = partition(disk, 1), partition(disk, 2)
    holding(root, signature("ext4"))
    root.update(mounts=[Pick(draw, mount=["/", "/boot/efi"]).mount], held=True)
    disk["held"] = True
    return Disk([disk, root, rest], [NEVER, NEVER, NEVER])


def our_disk(draw: st.DrawFn, disk: Device) -> Disk:
    """Swap of ours in every state in which a run or an administrator may have left it."""
    pick = Pick(
        draw,
        derived=[True, False],
        unit=NO_YES,
        unit_priority=PRIORITIES,
        unit_discard=DISCARDS,
        enabled=[True, False],
        drop_in=[True, False],
        relabelled=NO_YES,
        active=NO_YES,
        priority=[*PRIORITIES, -2],
        used=[0, GIB // 8],
    )
    formatted(disk, "hostprep", None if pick.derived else f"11111111-0000-0000-0000-{disk['name']:0>12}")
    files: dict[str, str] = {}
    if pick.unit:
        files = unit_files(disk, pick.unit_priority, pick.unit_discard, pick.enabled)
        if not pick.drop_in:
            del files[units.device_drop_in_path(uuid_of(disk))]
        if pick.relabelled:  # known by its unit alone
            disk["signatures"][0]["label"] = "older"
            disk["links"]["by_label"] = ["older"]
    if pick.active:
        active(disk, pick.priority, pick.used)
    return Disk([disk], [OURS], files)


def returned_disk(draw: st.DrawFn, disk: Device) -> Disk:
    """Ours before it came back blank: its unit is still there."""
    pick = Pick(draw, priority=PRIORITIES, discard=DISCARDS)
    return Disk([disk], [FREE], unit_files(disk, pick.priority, pick.discard))


KINDS: list[t.Callable[[st.DrawFn, Device], Disk]] = [
    *[free_disk, our_disk, our_disk, rest_disk, partitioned_disk, partitioned_disk, returned_disk, data_disk],
    *[rest_swap_disk, hibernated_disk, foreign_swap_disk, used_disk, odd_disk, system_disk],
]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    devices: list[Device] = []
    fates: dict[str, str] = {}
    files: dict[str, str] = {}
    for number in range(draw(st.integers(1, 3))):
        pick = Pick(draw, kind=KINDS, node=[0, 1, None], model=["QEMU NVMe Ctrl", "Other"])
        size = GIB * (number + 1)
        disk = device(f"nvme{number}n1", f"SN{number}", size=size, numa_node=pick.node, model=pick.model)
        made = pick.kind(draw, disk)
        devices += made.devices
        fates.update(zip([entry["name"] for entry in made.devices], made.fates, strict=True))
        for path, text in made.files.items():
            files[path] = files.get(path, "") + text if path == "/etc/fstab" else text
    pick = Pick(draw, orphan=NO_YES, on_demand=[True, False])
    if pick.orphan:
        files.update(unit_files(device("gone", "GONE")))  # of a device that is not there any more
    return World(host(*devices, files=files, loads_on_demand=pick.on_demand), fates)


NAMES: dict[str, t.Callable[[Device], str | None]] = {
    "serial": lambda entry: entry["serial"] if entry["type"] == "disk" else None,
    "wwid": lambda entry: entry["wwid"] if entry["type"] == "disk" else None,
    "by_id": lambda entry: entry["links"]["by_id"][0],
    "by_path": lambda entry: f"/dev/disk/by-path/{entry['links']['by_path'][0]}",
    "partlabel": lambda entry: entry["partlabel"],
}
PATTERNS: list[tuple[dict[str, t.Any], t.Callable[[Device], bool]]] = [
    ({"transport": "nvme"}, lambda entry: entry["transport"] == "nvme"),
    ({"min_size": "2G"}, lambda entry: entry["size"] >= 2 * GIB),
    ({"max_size": "2048M"}, lambda entry: entry["size"] <= 2 * GIB),
    ({"model": "QEMU*"}, lambda entry: entry["model"].startswith("QEMU")),
    ({"numa_node": 0}, lambda entry: entry["numa_node"] == 0),
]


@st.composite
def wishes(draw: st.DrawFn, world: World) -> Wish:
    entries = list(world.devices().values())
    pick = Pick(
        draw,
        by_name=[True, True, True, False],
        likely=[True, True, False],
        state=["present", "present", "absent"],
        priority=PRIORITIES,
        discard=DISCARDS,
        label=["hostprep", "hostprep", "newer"],
        wipe=NO_YES,
        count=[1, 2, 3],
    )
    if pick.by_name:
        likely = [entry for entry in entries if world.fates[entry["name"]] in (FREE, OURS, REST)]
        pool = likely if likely and pick.likely else entries
        chosen = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=2, unique_by=id))
        key = draw(st.sampled_from([key for key, name in NAMES.items() if all(name(entry) for entry in chosen)]))
        select: dict[str, t.Any] = {key: [NAMES[key](entry) for entry in chosen]}
        targets = {entry["name"] for entry in chosen}
    else:
        patterns = draw(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2, unique_by=id))
        select = {key: value for pattern, dummy in patterns for key, value in pattern.items()}
        whole = [entry for entry in entries if entry["type"] == "disk"]
        targets = {entry["name"] for entry in whole if all(fits(entry) for dummy, fits in patterns)}
    options = wanted(
        select,
        count=None if pick.by_name else pick.count,
        **{name: getattr(pick, name) for name in ("state", "priority", "discard", "label", "wipe")},
    )
    return Wish(options, targets)


@st.composite
def cases(draw: st.DrawFn) -> tuple[World, Wish]:
    world = draw(worlds())
    return world, draw(wishes(world))


@st.composite
def accepted(draw: st.DrawFn) -> tuple[World, Wish, Plan]:
    """A case in which there is something to do."""
    world, wish = draw(cases())
    plan = swap.plan(world.observed, wish.options)
    assume(plan.actions)
    return world, wish, plan


# --- what an action touches ---------------------------------------------------------------------------------------


def touched(action: Action, world: World) -> set[str]:
    """Kernel names of the devices that an action concerns."""
    if isinstance(action, Command):
        by_unit = {units.swap_unit_name(uuid): name for uuid, name in uuids(world).items()}
        paths = {entry["path"]: name for name, entry in world.devices().items()}
        words = {**by_unit, **paths}
        return {words[word] for word in action.argv if word in words}
    assert isinstance(action, (WriteFile, RemoveFile))
    return {
        name
        for uuid, name in uuids(world).items()
        if action.path in (units.swap_unit_path(uuid), units.device_drop_in_path(uuid))
    }


def uuids(world: World) -> dict[str, str]:
    """Devices by the UUID that they have and by the one that they would get."""
    found = {areas.area_uuid(entry): name for name, entry in world.devices().items()}
    found.update({sig["uuid"]: name for name, entry in world.devices().items() for sig in entry["signatures"]})
    return found


def allowed(name: str, world: World, wish: Wish) -> bool:
    """Whether a device may be touched, by how it was made."""
    entry = world.devices()[name]
    consent = wish.options["wipe"] and any(wish.options["select"][key] for key in ("serial", "wwid", "by_id"))
    present = wish.options["state"] == "present"
    fates = {FREE, OURS, REST} if consent and present else {FREE, OURS}
    family = {name, entry["parent"]} if consent and present else {name}  # partitions go down with their disk
    return any(member in wish.targets and world.fates[member] in fates for member in family if member)


QUICK = settings(max_examples=100, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
# Cheap, and the one that must not miss anything.
THOROUGH = settings(QUICK, max_examples=400)


@THOROUGH
@given(cases())
def test_only_what_was_meant_and_may_be_is_touched(case: tuple[World, Wish]) -> None:
    world, wish = case
    for action in swap.plan(world.observed, wish.options).actions:
        for name in touched(action, world):
            assert allowed(name, world, wish), f"{action} on {name}, which is {world.fates[name]}"
            if wish.options["state"] == "absent" and isinstance(action, Command):
                assert action.argv[0] in ("swapoff", "systemctl") or (
                    wish.options["wipe"] and action.argv[0] == "wipefs"
                )


@QUICK
@given(cases())
def test_what_may_be_had_is_had(case: tuple[World, Wish]) -> None:
    """A refusal has a reason: none where only free devices and areas of ours are named."""
    world, wish = case
    names = [name for name in wish.targets if world.fates[name] in (FREE, OURS)]
    assume(names and not wish.options["count"])
    options = {**wish.options, "wipe": False, "label": "hostprep"}
    entries = [world.devices()[name] for name in names]
    used = sum(entry["swap"]["used"] for entry in entries if entry["swap"])
    assume(used < GIB and "/etc/fstab" not in world.observed["below"]["files"])
    for key, name in NAMES.items():
        if all(name(entry) for entry in entries):
            options["select"] = {**wanted({})["select"], key: [name(entry) for entry in entries]}
            assert swap.plan(world.observed, options).problems == ()


@QUICK
@given(cases())
def test_a_plan_is_a_pure_function(case: tuple[World, Wish]) -> None:
    world, wish = case
    observed, options = copy.deepcopy(world.observed), copy.deepcopy(wish.options)
    first = swap.plan(world.observed, wish.options)
    assert (world.observed, wish.options) == (observed, options)
    assert swap.plan(observed, options) == first
    assert not (first.problems and first.actions)
    assert swap.state(observed, options) == swap.state(world.observed, wish.options)


@QUICK
@given(cases())
def test_nothing_to_do_looks_like_nothing_to_do(case: tuple[World, Wish]) -> None:
    """And the other way round: what is done can be seen in the words or in the files of the diff."""
    world, wish = case
    plan = swap.plan(world.observed, wish.options)
    reload_only = [a for a in plan.actions if not (isinstance(a, Command) and a.argv == ("systemctl", "daemon-reload"))]
    files = [action for action in plan.actions if isinstance(action, (WriteFile, RemoveFile))]
    if not plan.problems:
        assert bool(reload_only) == (plan.before != plan.after or bool(files))


@QUICK
@given(accepted())
def test_a_plan_carried_out_leaves_nothing_to_do(case: tuple[World, Wish, Plan]) -> None:
    world, wish, plan = case
    event(wish.options["state"])
    done = simulate_all(plan.actions, world.observed)
    again = swap.plan(done, wish.options)
    assert again.problems == ()
    assert again.actions == ()
    assert again.deviations == ()
    assert again.before == again.after
    if wish.options["state"] == "present":
        areas = {entry["name"] for entry in done["devices"].values() if entry["swap"]} & wish.targets
        assert len(areas) >= selected_count(wish)
        for name in {name for action in plan.actions for name in touched(action, world)} & areas:
            assert done["devices"][name]["swap"]["priority"] == wish.options["priority"]
            assert done["below"]["discard"][name] == wish.options["discard"]
            booted = power_cut(done)
            assert booted["devices"][name]["swap"]["priority"] == wish.options["priority"]
            assert booted["below"]["discard"][name] == wish.options["discard"]
    else:
        ours = [name for name in wish.targets if world.fates[name] in (OURS, FREE)]
        assert not any(power_cut(done)["devices"][name]["swap"] for name in ours)
        assert not {uuid for uuid, name in uuids(world).items() if name in ours} & set(done["units"])


def selected_count(wish: Wish) -> int:
    return wish.options["count"] or len(wish.targets)


@QUICK
@given(accepted(), st.data())
def test_a_run_that_was_cut_off_is_finished_by_the_next(case: tuple[World, Wish, Plan], data: st.DataObject) -> None:
    world, wish, plan = case
    # The boot may turn swap of others on, and then it is refused where it was passed over before.
    assume(wish.options["count"] or NEVER not in {world.fates[name] for name in wish.targets})
    whole = simulate_all(plan.actions, world.observed)
    if data.draw(st.booleans(), label="reboot at the end"):
        whole = power_cut(whole)

    cuts = data.draw(st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.booleans()), min_size=1, max_size=2))
    observed = world.observed
    for after, torn, power in cuts:
        actions = swap.plan(observed, wish.options).actions
        observed = simulate_all(actions[:after], observed)
        if torn and after < len(actions):
            observed = tear(actions[after], observed)
        if power:
            observed = power_cut(observed)
        untouched(world, wish, observed)
    again = swap.plan(observed, wish.options)
    assert again.problems == ()
    observed = simulate_all(again.actions, observed)
    if shown(observed) != shown(whole):  # a reboot turns on and off what this plan does not care for
        assert shown(power_cut(observed)) == shown(power_cut(whole))


def untouched(world: World, wish: Wish, observed: Observed) -> None:
    """Every device that was not meant has what it had; its own swap may have gone off with the power."""
    for name, entry in world.devices().items():
        if not allowed(name, world, wish):
            kept = ("signatures", "partitions", "partition_table", "mounts")
            assert {key: observed["devices"][name][key] for key in kept} == {key: entry[key] for key in kept}
    ours = {name for name, fate in world.fates.items() if fate in (OURS, FREE)} & wish.targets
    others = {units.swap_unit_path(uuid) for uuid, name in uuids(world).items() if name not in ours}
    for path in others & set(world.observed["below"]["files"]):
        assert observed["below"]["files"][path] == world.observed["below"]["files"][path]


@settings(QUICK, max_examples=40)
@given(st.data())
def test_a_life_of_swap(data: st.DataObject) -> None:
    """Create, add a device, change priority and discard, remove one, remove all: only ours comes and goes."""
    foreign = active(formatted(device("nvme8n1", "FOREIGN"), "other", "8" * 8), 7)
    full = holding(device("nvme9n1", "DATA"), signature("ext4", uuid="9" * 8))
    files = {"/etc/fstab": f"UUID={'8' * 8} none swap pri=7 0 0\n"}
    observed = host(device("nvme0n1", "A"), device("nvme1n1", "B"), foreign, full, files=files)
    start = shown(observed)

    both = [["A", "B"], ["B", "A"]]
    pick = Pick(data.draw, first=PRIORITIES, second=PRIORITIES, discard=DISCARDS, both=both, reboots=NO_YES)
    steps = [
        (wanted({"serial": ["A"]}, priority=pick.first), {"A"}),
        (wanted({"serial": pick.both}, priority=pick.first), {"A", "B"}),
        (wanted({"serial": pick.both}, priority=pick.second), {"A", "B"}),
        (wanted({"serial": pick.both}, priority=pick.second, discard=pick.discard), {"A", "B"}),
        (wanted({"serial": ["A"]}, state="absent"), {"B"}),
        (wanted({}, state="absent"), set()),
    ]
    uuid: dict[str, str] = {}
    for options, expected in steps:
        plan = swap.plan(observed, options)
        assert plan.problems == ()
        observed = simulate_all(plan.actions, observed)
        if pick.reboots:
            observed = power_cut(observed)
        assert swap.plan(observed, options).actions == ()
        entries = {entry["serial"]: entry for entry in observed["devices"].values()}
        assert {serial for serial, entry in entries.items() if entry["swap"]} == {*expected, "FOREIGN"}
        assert entries["FOREIGN"]["swap"]["priority"] == 7
        for serial in expected:
            assert uuid.setdefault(serial, uuid_of(entries[serial])) == uuid_of(entries[serial])
    end = shown(observed)
    assert (end["files"], end["foreign"], end["active"]) == (start["files"], start["foreign"], start["active"])
    assert end["devices"]["nvme9n1"] == start["devices"]["nvme9n1"]


@pytest.mark.parametrize("fate", [FREE, OURS, REST])
@pytest.mark.parametrize("state", ["present", "absent"])
def test_the_cases_are_not_all_refusals(fate: str, state: str) -> None:
    """The properties above mean nothing if no plan ever touches such a device."""
    if (fate, state) in ((FREE, "absent"), (REST, "absent")):
        return

    def interesting(case: tuple[World, Wish, Plan]) -> bool:
        world, wish, plan = case
        names = {name for action in plan.actions for name in touched(action, world)}
        return wish.options["state"] == state and fate in {world.fates[name] for name in names & wish.targets}

    find(accepted(), interesting, settings=settings(QUICK, max_examples=3000, phases=[Phase.generate], database=None))


def test_simulate_refuses_what_a_host_refuses() -> None:
    """The model has to be able to say no, or the properties prove nothing."""
    mounted = holding(device(mounts=["/srv"], held=True), signature("ext4"))
    for argv in (("wipefs", "--all", mounted["path"]), ("swapoff", mounted["path"])):
        with pytest.raises(AssertionError):
            simulate(Command(argv, "test"), host(mounted))
    rest = holding(device(), signature("ext4"))
    with pytest.raises(AssertionError):
        simulate(Command(("mkswap", "--label", "x", "--uuid", "1", rest["path"]), "test"), host(rest))
    changed = formatted(device())
    observed = host(changed, files=unit_files(changed))
    path = units.swap_unit_path(uuid_of(changed))
    text = observed["below"]["files"][path]
    observed = simulate(WriteFile(path, text.replace("100", "5"), text, "test"), observed)
    with pytest.raises(AssertionError, match="would start as it was"):
        simulate(Command(("systemctl", "start", units.swap_unit_name(uuid_of(changed))), "test"), observed)
    assert swap_signature("1")["type"] == "swap"
