"""The lab: real virtual machines under QEMU, for a laptop, molecule and pytest alike."""
