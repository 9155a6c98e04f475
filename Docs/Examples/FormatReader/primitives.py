"""Numbers, texts and hashes, as Docs/formats/segment.md and events.md define them."""

import struct

import xxhash

WORD = (1 << 64) - 1


class Damaged(Exception):
    """Bytes are not what the format says; the text says what, and where."""


def hash64(data, seed=0):
    return xxhash.xxh3_64_intdigest(bytes(data), seed & WORD)


def hash128(data, seed):
    """The low and the high word."""
    value = xxhash.xxh3_128_intdigest(bytes(data), seed & WORD)
    return value & WORD, value >> 64


def seed_at(salt, offset):
    return (salt + (offset + 1) * 0x9E3779B97F4A7C15) & WORD


def zeros_up_to_multiple_of_8(length):
    return -length % 8


class Reader:
    """Takes values from the front of some bytes."""

    def __init__(self, data, what):
        self.data = bytes(data)
        self.offset = 0
        self.what = what

    def __bool__(self):
        return self.offset < len(self.data)

    def take(self, count):
        end = self.offset + count
        if count < 0 or end > len(self.data):
            raise Damaged(f"{self.what}: {count} bytes are expected at byte {self.offset} of {len(self.data)}")
        taken = self.data[self.offset : end]
        self.offset = end
        return taken

    def rest(self):
        return self.take(len(self.data) - self.offset)

    def number(self, form):
        """One number by its letter in the module `struct`."""
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def varint(self):
        value = 0
        for shift in range(0, 64, 7):
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value > WORD or (byte == 0 and shift > 0):
                    break
                return value
        raise Damaged(f"{self.what}: no varint in its shortest form ends at byte {self.offset}")

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def string(self):
        return text(self.take(self.varint()), self.what)


def text(data, what):
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Damaged(f"{what}: a text is not UTF-8: {error}") from None
