"""Memory events as PyTorch and Paddle write them."""


def block(args):
    """(device or "host", bytes that it takes, bytes allocated with it); 0 bytes of what is no such event."""
    if "increase_bytes" in args:
        place = str(args.get("place", "")).removeprefix("Place(").removesuffix(")")
        device = "host" if ":" not in place else place.split(":")[1]
        return device, int(args["increase_bytes"]), int(args.get("current_allocated", 0))
    device = "host" if int(args.get("Device Type", 0)) == 0 else str(args.get("Device Id", 0))
    size = int(args.get("Bytes", 0))
    return device, size, int(args.get("Total Allocated", size))


def peak(blocks):
    """Of (time, bytes, total): from what was held before the first."""
    blocks = sorted(blocks, key=lambda b: b[0])
    live = highest = blocks[0][2] - blocks[0][1]
    for _, size, _ in blocks:
        live += size
        highest = max(highest, live)
    return highest
