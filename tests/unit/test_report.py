# Copyright: (c) 2026, the virt.hostprep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of role verify, rendered as ansible.builtin.template does it and read back by a parser.

The fixtures are what host_check returned over recorded machines; "deviating" has hostile names wherever a host can
choose one.
"""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass, field, fields
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from ansible_collections.virt.hostprep.plugins.module_utils.cpulist import parse_list
from ansible_collections.virt.hostprep.plugins.module_utils.plan import Check, Problem
from ansible_collections.virt.hostprep.plugins.module_utils.quantity import show_size
from ansible_collections.virt.hostprep.plugins.modules import host_check
from jinja2 import Environment, FileSystemLoader, StrictUndefined

Data = dict[str, t.Any]

ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parents[2] / "roles" / "verify" / "templates"),
    trim_blocks=True,
    undefined=StrictUndefined,
    autoescape=False,  # as Ansible has it: the template itself must escape
)
FIXTURES = ("sane", "deviating", "problems")
HOSTILE = "</code></td><script>x('&')</script><img src=\"//h\" onerror='y'>{{ 7 * 7 }}"
NOTHING = "\N{EN DASH}"
TIMES = "\N{MULTIPLICATION SIGN}"
VOID = ("meta", "col", "br", "wbr")


def result(name: str) -> Data:
    """A fresh copy of a fixture."""
    path = Path(__file__).parent / "fixtures" / "report" / f"{name}.json"
    return t.cast(Data, json.loads(path.read_text(encoding="utf-8")))


def render(hosts: Data) -> str:
    report = {"generated": "2026-11-30T15:48:12Z", "collection": "virt.hostprep 1.0.0", "hosts": hosts}
    return ENVIRONMENT.get_template("report.html.j2").render(verify_report=report)


@dataclass
class Row:
    """A row of a table: its class, and the text of its cells by column."""

    kind: str | None
    cells: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """A page as a browser sees it. Fails on elements that are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.rows: list[Row] = []
        self.text = ""
        self._open: list[str] = []
        self._column: str | None = None
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert len(attributes) == len(attrs)
        self.elements.append((tag, attributes))
        if tag not in VOID:
            self._open.append(tag)
        if tag == "tr":
            self.rows.append(Row(attributes.get("class")))
        if tag == "td":
            self._column = attributes.get("data-label")
            if self._column:
                self.rows[-1].cells[self._column] = ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, f"line {self.getpos()[0]}"
        if tag == "td":
            self._column = None

    def handle_data(self, data: str) -> None:
        if "style" in self._open:
            return
        self.text += data
        if self._column:
            cells = self.rows[-1].cells
            cells[self._column] = f"{cells[self._column]}{data}".lstrip("\n")

    def table(self, *columns: str) -> list[dict[str, str]]:
        """The cells of all rows that have just these columns."""
        return [
            {name: text.strip() for name, text in row.cells.items()} for row in self.rows if tuple(row.cells) == columns
        ]

    @property
    def wrong(self) -> list[dict[str, str]]:
        return self.table("What", "Found", "Wanted", "Remedy", "Proof")

    @property
    def evidence(self) -> list[dict[str, str]]:
        return self.table("Subject", "What", "Wanted", "Found", "Proof", "State")

    @property
    def devices(self) -> list[dict[str, str]]:
        return self.table("Verdict", "Device", "Size", "Serial", "Node", "Carries", "Why refused")

    @property
    def drawings(self) -> list[ElementTree.Element]:
        return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", self.html, re.DOTALL)]


def page(**hosts: Data) -> Page:
    return Page(render(hosts))


def numa(nodes: list[Data], devices: t.Sequence[Data] = (), **more: t.Any) -> Data:
    cpus = sum(len(node["cpus"]) for node in nodes)
    return {
        "cpus_total": cpus,
        "cpus_online": cpus,
        "cpus_offline": [],
        "cpus_isolated": [],
        "cpus_nohz_full": None,
        "numa": True,
        "nodes": nodes,
        "devices": list(devices),
        **more,
    }


def node(number: int, cpus: t.Iterable[int], memory_kb: int | None = 1 << 20, **more: t.Any) -> Data:
    return {"id": number, "cpus": list(cpus), "memory_kb": memory_kb, "hugepages": {}, "distances": {}, **more}


def device(kind: str, numa_node: int | None, *names: str, address: str = "0000:01:00.0") -> Data:
    return {"kind": kind, "numa_node": numa_node, "names": list(names), "address": address}


def machine(count: int) -> Data:
    """So many nodes with four CPUs each, and a disk on every node."""
    distances = {str(number): 10 + 2 * number for number in range(count)}
    return numa(
        [node(number, range(4 * number, 4 * number + 4), distances=distances) for number in range(count)],
        [device("nvme", number, f"nvme{number}") for number in range(count)],
    )


def pictures(topology: Data) -> dict[str, list[str]]:
    """The texts in each drawing by its title, of a page with that topology."""
    drawings = page(host={**result("sane"), "numa": topology}).drawings
    return {drawing[0].text or "": [text.text or "" for text in drawing.iter("text")] for drawing in drawings}


# --- the fixtures -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FIXTURES)
def test_fixtures_are_what_host_check_returns_today(name: str) -> None:
    fixture = result(name)
    where_asked_for = {"kubelet", "swap"}
    assert set(fixture) - where_asked_for == set(yaml.safe_load(host_check.RETURN)) - where_asked_for
    for check in fixture["checks"]:
        assert set(check) == {"subject", *(entry.name for entry in fields(Check))}
    for problem in fixture["problems"]:
        assert set(problem) == {"subject", *(entry.name for entry in fields(Problem))}


# --- what the page says -----------------------------------------------------------------------------------------


def test_a_host_as_wanted() -> None:
    host = result("sane")
    seen = page(lab=host)
    assert "✓ All hosts are as wanted." in seen.text
    assert "✕" not in seen.text
    assert seen.wrong == []
    assert "2026-11-30T15:48:12Z" in seen.text
    assert "virt.hostprep 1.0.0" in seen.text
    assert host["system"]["os"] in seen.text
    assert "Still to do" not in seen.text


@pytest.mark.parametrize("name", FIXTURES)
def test_every_check_is_shown_with_its_proof(name: str) -> None:
    def state(check: Data) -> str:
        return "✓ ok" if check["ok"] else "✕ differs" if check["supported"] else "! not supported by this kernel"

    host = result(name)
    expected = [
        {
            "Subject": check["subject"],
            "What": check["name"],
            "Wanted": check["wanted"],
            "Found": check["found"],
            "Proof": check["proof"],
            "State": state(check),
        }
        for check in host["checks"]
    ]
    order = ("✕ differs", "! not supported by this kernel", "✓ ok")
    assert page(lab=host).evidence == sorted(expected, key=lambda row: order.index(row["State"]))


@pytest.mark.parametrize("name", FIXTURES)
def test_every_device_is_shown_with_verdict_and_reasons(name: str) -> None:
    host = result(name)
    shown = {row["Device"].split("\n")[0]: row for row in page(lab=host).devices}
    assert len(shown) == len(host["devices"]) == 4
    for device in host["devices"]:
        row = shown[device["stable_name"]]
        assert row["Verdict"].endswith(f" {device['verdict']}")
        assert row["Size"] == show_size(device["size"])
        assert row["Serial"] == device["serial"]
        assert row["Node"] == (NOTHING if device["numa_node"] is None else str(device["numa_node"]))
        assert row["Why refused"].split("\n") == (device["reasons"] or [NOTHING])


def test_what_devices_carry() -> None:
    host = result("deviating")
    host["devices"][3] |= {"signatures": [], "mounts": [], "partition_table": "gpt", "partitions": ["vda1", "vda2"]}
    rows = [row["Carries"].split("\n") for row in page(lab=host).devices]
    assert rows == [
        ['swap "hostprep"', "active swap"],
        ["nothing"],
        ['ext4 "</td><td>pwn"', 'mounted at /mnt/<b>& "x"'],
        ["gpt", "partitions vda1, vda2"],
    ]


def test_deviations_stand_on_top_with_remedy_and_proof() -> None:
    host = result("deviating")
    seen = page(lab=host)
    assert seen.wrong == [
        {
            "What": f"✕ differs {check['name']}",
            "Found": check["found"],
            "Wanted": check["wanted"],
            "Remedy": "run site.yml: what it would do",
            "Proof": check["proof"],
        }
        for check in host["checks"]
        if check["supported"] and not check["ok"]
    ]
    assert seen.text.index("Not as wanted") < seen.text.index("Evidence")
    for warning in host["warnings_found"]:
        assert warning in seen.text


def test_problems_stand_on_top_with_their_own_remedy() -> None:
    host = result("problems")
    seen = page(lab=host)
    assert len(host["problems"]) == 2
    assert seen.wrong[:2] == [
        {
            "What": f"✕ problem {problem['subject']}",
            "Found": problem["found"],
            "Wanted": problem["wanted"],
            "Remedy": problem["remedy"],
            "Proof": NOTHING,
        }
        for problem in host["problems"]
    ]
    assert "Nothing of this is done as long as there are problems." in seen.text


def test_a_deviation_that_no_action_can_repair_has_a_remedy_too() -> None:
    host = {**result("deviating"), "actions": [], "changes": []}
    assert {row["Remedy"] for row in page(lab=host).wrong} == {"look for what overrides it, then run site.yml"}


def test_actions_without_a_deviation_are_not_as_wanted() -> None:
    host = {**result("sane"), "actions": [{"subject": "swap", "command": ["swaplabel"], "reason": "label it"}]}
    seen = page(lab=host)
    assert [(row["What"], row["Found"]) for row in seen.wrong] == [("✕ unfinished", "1 action still to do")]


def test_every_action_is_listed() -> None:
    host = result("deviating")
    host["actions"].append({"subject": "swap", "remove": "/etc/old.swap", "reason": "remove our unit"})
    text = page(lab=host).text
    for action in host["actions"]:
        assert f"{action['reason']}: " in text
    for deed in (
        "swapoff /dev/nvme0n1",
        "write 100 to /proc/sys/vm/swappiness",
        "write /etc/sysctl.d/90-hostprep-swap.conf",
        "remove /etc/old.swap",
        "- vm.swappiness = 60\n",
        "+ vm.swappiness = 100\n",
    ):
        assert deed in text


def test_the_kubelet_of_a_node() -> None:
    kubelet = {
        "node_name": "worker-1",
        "version": "v1.33.4",
        "distribution": "kubeadm",
        "unit": "kubelet.service",
        "running": True,
        "config_file": "/var/lib/kubelet/config.yaml",
        "drop_ins": ["/etc/k.d/90-hostprep.conf"],
        "config": {"failSwapOn": False},
        "written_to": "/etc/k.d/90-hostprep.conf",
    }
    restart = {"subject": "kubelet", "restart": "kubelet.service", "reason": "read it", "remove": ["/var/state"]}
    seen = page(lab={**result("sane"), "kubelet": kubelet, "actions": [restart]})
    assert "worker-1, v1.33.4, set up by kubeadm" in seen.text
    assert "restart kubelet.service, without /var/state" in seen.text
    unread = {key: kubelet[key] for key in ("node_name", "version", "distribution", "unit")}
    assert "which is not running" in page(lab={**result("sane"), "kubelet": {**unread, "running": False}}).text


def test_swap_of_ours_and_of_others() -> None:
    seen = page(lab=result("deviating"))
    (area,) = seen.table("State", "Device", "Size", "Used", "Priority", "Node", "At boot")
    assert (area["State"], area["Size"], area["Used"], area["Priority"]) == ("✓ active", "2 GiB", "4 MiB", "10")
    (other,) = seen.table("Path", "Type", "Size", "Used", "Priority")
    assert (other["Path"], other["Used"]) == ("/swap<i>.img", "512 MiB")
    declared = seen.table("Where", "What", "Device", "Priority", "Discard")
    assert [(entry["Where"], entry["Discard"]) for entry in declared] == [
        ("/etc/fstab:1", "none"),
        ("/etc/fstab:2", "pages"),
    ]


def test_hosts_that_are_wrong_come_first() -> None:
    seen = page(a=result("sane"), b=result("deviating"), c=result("sane"), d=result("problems"))
    assert [row["State"] for row in seen.table("State", "Checks", "Notes", "System")] == [
        "✕ 8 not as wanted",
        "✕ 3 not as wanted",
        "✓ as wanted",
        "✓ as wanted",
    ]
    sections = [attributes["id"] for tag, attributes in seen.elements if tag == "section" and "id" in attributes]
    assert sections == ["host-2", "host-4", "host-1", "host-3"]
    assert "2 of 4" in seen.text
    assert "26 of 37" in seen.text


def test_a_host_of_which_little_is_known() -> None:
    host = {**result("sane"), "checks": [], "numa": numa([node(0, [], None)], cpus_total=None, cpus_online=None)}
    del host["devices"], host["swap"]
    text = page(lab=host).text
    for sentence in (
        "Nothing was checked.",
        "No devices could be read.",
        "Swap was not asked for",
        f"{NOTHING} of {NOTHING} CPUs",
    ):
        assert sentence in text


def test_no_hosts() -> None:
    assert "No host was looked at." in page().text


# --- a page that stands alone and cannot be taken over ----------------------------------------------------------


def poisoned(value: t.Any, key: str = "") -> t.Any:
    """The same data with hostile text in every string, but for the verdict, which is a word of ours."""
    if isinstance(value, dict):
        return {name: poisoned(entry, name) for name, entry in value.items()}
    if isinstance(value, list):
        return [poisoned(entry, key) for entry in value]
    return value + HOSTILE if isinstance(value, str) and key != "verdict" else value


@pytest.mark.parametrize("name", FIXTURES)
def test_no_text_of_a_host_becomes_markup(name: str) -> None:
    def kinds(seen: Page) -> set[tuple[str, ...]]:
        return {(tag, *attributes) for tag, attributes in seen.elements}

    host = result(name)
    clean = page(one=host, two=host)
    hostile = Page(render({f"one{HOSTILE}": poisoned(host), f"two{HOSTILE}": poisoned(host)}))
    assert kinds(hostile) == kinds(clean)
    assert hostile.text.count(HOSTILE) > 100
    assert "<script" not in hostile.html
    assert len(hostile.drawings) == len(clean.drawings)


def test_the_page_stands_alone() -> None:
    seen = page(a=result("sane"), b=result("problems"))
    assert re.findall(r"https?://|\bsrc\s*=|url\(|@import|<script|<link", seen.html) == []
    ids = [attributes["id"] for dummy, attributes in seen.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for tag, attributes in seen.elements:
        for name, text in attributes.items():
            assert not name.startswith("on")
            if name == "href":
                assert (tag, text) in {("a", f"#{anchor}") for anchor in ids}
            if name == "aria-labelledby":
                assert set((text or "").split()) <= set(ids)


def test_the_page_forbids_what_it_does_not_need() -> None:
    policies = [
        attributes["content"]
        for dummy, attributes in page(a=result("sane")).elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


# --- the NUMA picture -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 8, 64])
def test_one_box_a_node(count: int) -> None:
    seen = page(lab={**result("sane"), "numa": machine(count)})
    assert [drawing[0].text for drawing in seen.drawings] == [f"Node {number}" for number in range(count)]
    for number, drawing in enumerate(seen.drawings):
        texts = [text.text for text in drawing.iter("text")]
        assert texts[1] == "4 CPUs, 1 GiB"
        assert f"{4 * number}-{4 * number + 3}" in texts
        assert f"nvme{number}" in texts
        assert drawing[1].tag == "desc"
        assert f"nvme: nvme{number}" in (drawing[1].text or "")
    cells = [attributes for tag, attributes in seen.elements if tag == "td" and "style" in attributes]
    assert len(cells) == (count * count if count > 1 else 0)


def test_everything_drawn_lies_inside_its_box() -> None:
    crowded = numa([node(0, range(0, 2000, 3)), node(1, [])], [device("net", 0, "a" * 15, "b" * 300)] * 40)
    for drawing in page(lab={**result("sane"), "numa": crowded}).drawings:
        width, height = (int(drawing.get(side, "")) for side in ("width", "height"))
        assert height < 300
        for text in drawing.iter("text"):
            assert int(text.get("y", "")) < height
            if text.get("class") == "value":
                assert int(text.get("x", "")) + 6.7 * len(text.text or "") < width
        for rect in drawing.iter("rect"):
            assert float(rect.get("x", "")) + float(rect.get("width", "")) <= width


def test_nodes_without_cpus_or_memory() -> None:
    seen = pictures(numa([node(0, [0, 1]), node(8, [], 1 << 19), node(250, [2, 3], 0), node(251, [4], None)]))
    assert seen == {
        "Node 0": ["Node 0", "2 CPUs, 1 GiB", "CPUs", "0-1", "hugepages", "none"],
        "Node 8": ["Node 8", "no CPUs, 512 MiB", "hugepages", "none"],
        "Node 250": ["Node 250", "2 CPUs, no memory", "CPUs", "2-3"],
        "Node 251": ["Node 251", "1 CPU, memory unknown", "CPUs", "4"],
    }


def test_hugepages() -> None:
    pages = {"2048kB": {"nr": 128, "free": 96}, "1048576kB": {"nr": 0, "free": 0}, "64kB": {"nr": 1, "free": None}}
    topology = numa([node(0, [0], 1 << 20, hugepages=pages), node(1, [1], 1 << 19)])
    seen = pictures(topology)["Node 0"]
    assert f"128 {TIMES} 2 MiB, 96 free" in seen
    assert f"1 {TIMES} 64 KiB, ? free" in seen
    bars = [
        [float(rect.get("width", "")) for rect in drawing.iter("rect")]
        for drawing in page(lab={**result("sane"), "numa": topology}).drawings
    ]
    track = bars[0][0]
    assert bars[0][1:] == pytest.approx([track, track * (128 * 2048 + 64) / (1 << 20)], abs=0.1)
    assert bars[1][1:] == pytest.approx([track / 2, 0], abs=0.1)


def test_devices_of_unknown_place_have_a_box_of_their_own() -> None:
    devices = [device("net", -1, "eth0"), device("nvme", None), device("net", 7, "eth1"), device("nvme", 1, "nvme0")]
    seen = pictures(numa([node(0, [0]), node(1, [1])], devices))
    assert seen["Node unknown"] == ["Node unknown", "3 devices", "net", "eth0, eth1", "nvme", "0000:01:00.0"]
    assert seen["Node 1"][-2:] == ["nvme", "nvme0"]


def test_on_a_machine_with_one_node_every_device_is_there() -> None:
    seen = pictures(numa([node(0, [0])], [device("net", -1, "eth0")], numa=False))
    assert list(seen) == ["Whole machine"]
    assert seen["Whole machine"][-2:] == ["net", "eth0"]


def test_distances() -> None:
    text = page(lab={**result("sane"), "numa": machine(2)}).text
    assert re.findall(r"Distances between nodes|\d+", text[text.index("Distances") :]) == [
        *("Distances between nodes", "0", "1"),
        *("0", "10", "12"),
        *("1", "10", "12"),
    ]
    unknown = numa([node(0, [0]), node(1, [1])])
    assert "tells no distances" in page(lab={**result("sane"), "numa": unknown}).text


def test_cpus_that_are_set_apart() -> None:
    topology = {**machine(2), "cpus_offline": [3], "cpus_isolated": [4, 5, 6], "cpus_nohz_full": []}
    text = page(lab={**result("sane"), "numa": topology}).text
    assert "8 of 8 CPUs online, offline: 3, isolated: 4-6. 2 NUMA nodes." in text


# --- words ------------------------------------------------------------------------------------------------------

WORDS = ENVIRONMENT.get_template("report/words.j2").module


@pytest.mark.parametrize("ids", [[], [5], [0, 1], [0, 2], [0, 1, 2, 8, 10, 11], [0, 1, 48, 49], [0, 2, 4, 7]])
def test_ranges_can_be_read_back(ids: list[int]) -> None:
    assert parse_list(WORDS.ranges(ids)) == ids  # type: ignore[attr-defined]


def test_evenly_spread_ids_are_short() -> None:
    assert WORDS.ranges(list(range(1, 128, 4))) == "1-125 in steps of 4"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "size", [0, 1, 1023, 1024, 1536, 2**20 - 1, 8 * 2**30, 8 * 2**30 - 2**19, 2097148 * 1024, 2**40, 2**50]
)
def test_sizes_are_written_as_the_modules_do(size: int) -> None:
    assert WORDS.size(size) == show_size(size)  # type: ignore[attr-defined]
