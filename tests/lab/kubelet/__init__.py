"""A kubelet stand-in on a lab host: ``lab.kubelet.install(lab, "kubeadm", "v1.34.1", api)``."""

from __future__ import annotations

from lab.kubelet.install import LAYOUTS, Installed, install

__all__ = ["LAYOUTS", "Installed", "install"]
