"""The log as files: CURRENT, manifest, segments (Docs/formats/segment.md)."""

import os
import re
import struct
from collections import namedtuple

import lz4.block

from primitives import Damaged, Reader, hash64, hash128, seed_at, zeros_up_to_multiple_of_8, WORD

HEADER, FRAME_HEADER, BLOCK_ENTRY, TRAILER, FOOTER_HEADER = 256, 80, 32, 32, 160
COMMITS, MARKER, CLOSING, RECOVERY, EDITS, STRIPE = range(1, 7)
SECTOR = 512

Commit = namedtuple("Commit", "first events time received envelope")
Event = namedtuple("Event", "position zone payload commit")
Block = namedtuple("Block", "first offset stored raw is_map positions hash")
Frame = namedtuple("Frame", "offset kind length first positions commits synced blocks header")


class File:
    """A file of the log: its header, its dictionary, and its valid frames one by one."""

    def __init__(self, path, kind):
        self.path = path
        try:
            self.handle = open(path, "rb")
        except OSError as error:
            raise Damaged(f"{path}: {error.strerror}") from None
        self.length = os.fstat(self.handle.fileno()).st_size
        header = self.read(0, HEADER)
        if header[:8] != b"TIDEMARK":
            raise Damaged(f"{path}: the first 8 bytes are not TIDEMARK")
        if hash64(header[:248]) != struct.unpack_from("<Q", header, 248)[0]:
            raise Damaged(f"{path}: the hash of the file header is wrong")
        if struct.unpack_from("<H", header, 10)[0] > 2:
            raise Damaged(f"{path}: it needs a newer reader")
        if header[12] != kind:
            raise Damaged(f"{path}: it is of kind {header[12]}, expected {kind}")
        self.store = header[16:32]
        self.incarnation, self.first, self.generation = struct.unpack_from("<QQI", header, 32)
        (self.salt,) = struct.unpack_from("<Q", header, 64)
        stored, raw, check = struct.unpack_from("<IIQ", header, 72)
        (self.made_length,) = struct.unpack_from("<Q", header, 104)
        self.header_hash = struct.unpack_from("<Q", header, 248)[0]
        self.dictionary = b""
        if stored:
            data = self.read(HEADER, stored)
            if hash64(data, seed_at(self.salt, HEADER)) != check:
                raise Damaged(f"{path}: the hash of the dictionary is wrong")
            self.dictionary = decompress(data, raw, b"", f"{path}: the dictionary")
        self.frames_begin = HEADER + stored + zeros_up_to_multiple_of_8(HEADER + stored)

    def read(self, offset, count):
        self.handle.seek(offset)
        data = self.handle.read(count)
        if len(data) != count:
            raise Damaged(f"{self.path}: it ends at byte {self.length}, within {count} bytes at {offset}")
        return data

    def seed(self, offset):
        return seed_at(self.salt, offset)

    def frame(self, offset, end, chain):
        """The frame at an offset, its header and table checked; its blocks are checked when they are read."""
        where = f"{self.path}, byte {offset}"
        if offset + FRAME_HEADER > end:
            raise Damaged(f"{where}: no room for a frame")
        header = self.read(offset, FRAME_HEADER)
        if header[:4] != b"TFRM":
            raise Damaged(f"{where}: no frame begins here")
        if hash64(header[:72], self.seed(offset)) != struct.unpack_from("<Q", header, 72)[0]:
            raise Damaged(f"{where}: the hash of the frame header is wrong")
        length, block_count, first, positions, commits, synced, chained = struct.unpack_from("<IIQIIQQ", header, 8)
        if offset + length > end:
            raise Damaged(f"{where}: the frame of {length} bytes goes beyond byte {end}")
        if chain is not None and chained != chain:
            raise Damaged(f"{where}: the chain word is not the hash of the frame before")
        table_offset = offset + FRAME_HEADER
        table = self.read(table_offset, block_count * BLOCK_ENTRY)
        if hash64(table, self.seed(table_offset)) != struct.unpack_from("<Q", header, 64)[0]:
            raise Damaged(f"{where}: the hash of the block table is wrong")
        blocks = [block_entry(table, index) for index in range(block_count)]
        place = table_offset + len(table)
        for block in blocks:
            if block.offset != place:
                raise Damaged(f"{where}: the blocks do not join up at byte {place}")
            place += block.stored
        if place + zeros_up_to_multiple_of_8(place) != offset + length:
            raise Damaged(f"{where}: the blocks do not fill the frame")
        if any(self.read(place, offset + length - place)):
            raise Damaged(f"{where}: the padding is not zero")
        return Frame(offset, header[4], length, first, positions, commits, synced, blocks, header)

    def block(self, block):
        """The raw bytes of a block."""
        where = f"{self.path}, block at byte {block.offset}"
        data = self.read(block.offset, block.stored)
        if hash64(data, self.seed(block.offset)) != block.hash:
            raise Damaged(f"{where}: its hash is wrong")
        return data if block.stored == block.raw else decompress(data, block.raw, self.dictionary, where)

    def frames(self, end):
        """All frames up to an end that must be there."""
        offset, chain = self.frames_begin, self.header_hash
        while offset < end:
            frame = self.frame(offset, end, chain)
            yield frame
            offset, chain = offset + frame.length, hash64(frame.header)

    def frames_to_tail(self, promised=0):
        """All frames of a file that takes more; a torn tail ends them, anything else is damage.

        `promised` is an offset up to which somebody else says that frames were on disk.
        """
        offset, chain = self.frames_begin, self.header_hash
        while offset < self.length:
            try:
                frame = self.frame(offset, self.length, chain)
                for block in frame.blocks:
                    self.block(block)
            except Damaged as damage:
                if not self.is_tail(offset, promised):
                    raise damage
                return
            yield frame
            offset, chain = offset + frame.length, hash64(frame.header)
        if offset < max(promised, self.made_length):
            raise Damaged(f"{self.path}: it ends at byte {self.length}, and was made with {self.made_length}")

    def is_tail(self, offset, promised):
        """Whether nothing that was on disk for certain is lost from an offset on."""
        if promised > offset or self.length < self.made_length:
            return False
        rest = self.read(offset, self.length - offset)
        for found in re.finditer(b"TFRM", rest):
            place = offset + found.start()
            if place == offset or place % 8:
                continue
            try:
                if self.frame(place, self.length, None).synced > offset:
                    return False
            except Damaged:
                continue
        if not any(rest[:FRAME_HEADER]):
            return True
        header = rest[:FRAME_HEADER]
        covered = FRAME_HEADER
        if len(header) == FRAME_HEADER and hash64(header[:72], self.seed(offset)) == struct.unpack_from("<Q", header, 72)[0]:
            covered = struct.unpack_from("<I", header, 8)[0] - 7
        place, end = offset, min(offset + covered, self.length)
        while place < end:
            sector_end = min(place - place % SECTOR + SECTOR, end)
            if not any(rest[place - offset : sector_end - offset]):
                return True
            place = sector_end
        return False


def block_entry(table, index):
    first, offset, stored, raw, positions, check = struct.unpack_from("<QIIIIQ", table, index * BLOCK_ENTRY)
    return Block(first, offset, stored, raw & 0x7FFFFFFF, bool(raw >> 31), positions, check)


def decompress(data, raw, dictionary, what):
    try:
        return lz4.block.decompress(data, uncompressed_size=raw, dict=dictionary)
    except lz4.block.LZ4BlockError as error:
        raise Damaged(f"{what}: LZ4 cannot read it: {error}") from None


class Segment:
    """What the manifest says of a segment."""

    def __init__(self, first, generation, incarnation):
        self.first, self.generation, self.incarnation = first, generation, incarnation
        self.last = self.frames_end = self.length = None

    @property
    def name(self):
        return f"{self.first:020}-{self.generation}.seg"


class Log:
    """A store's log: all events in order."""

    def __init__(self, folder):
        self.folder = folder
        self.segments = []
        self.incarnations = []
        self.closed = None
        self.store = None
        self.find_manifest()

    def find_manifest(self):
        path = os.path.join(self.folder, "CURRENT")
        try:
            with open(path, "rb") as file:
                line = file.read(256)
        except OSError as error:
            raise Damaged(f"{path}: {error.strerror}; this is no store, or none that was finished") from None
        name, _, check = line.rstrip(b"\n").partition(b" ")
        if check != b"%x" % hash64(name):
            raise Damaged(f"{path}: the hash of the name is wrong")
        manifest = File(os.path.join(self.folder, name.decode()), 2)
        self.store = manifest.store
        for frame in manifest.frames_to_tail():
            if frame.kind == EDITS:
                edits = manifest.block(frame.blocks[0])
                for place in range(0, len(edits), 40):
                    self.edit(struct.unpack_from("<QQQQQ", edits, place))

    def edit(self, words):
        kind, one, two, three, four = words
        if kind == 5:
            self.incarnations.append((one, two))
        elif kind == 6:
            self.closed = (one, two)
        elif kind == 1:
            self.closed = None
            self.segments.append(Segment(one, two, three))
        elif kind == 7:
            covers = [s for s in self.segments if one <= s.first and s.last is not None and s.last <= four]
            self.segments = [s for s in self.segments if s not in covers]
            self.segments.append(Segment(one, two, three))
            self.segments.sort(key=lambda segment: segment.first)
        else:
            segment = next(s for s in self.segments if (s.first, s.generation) == (one, two))
            if kind == 2:
                segment.last, segment.frames_end = three, four
            elif kind == 3:
                segment.length = three
            elif kind == 4:
                self.segments.remove(segment)
            else:
                raise Damaged(f"{self.folder}: an edit of kind {kind} in the manifest")

    def incarnation(self, position):
        """The incarnation that wrote a position."""
        return next(i for i, first in reversed(self.incarnations) if first <= position)

    def events(self):
        """All events, oldest first."""
        expected = None
        for segment in self.segments:
            file = File(os.path.join(self.folder, "segments", segment.name), 1)
            if file.store != self.store:
                raise Damaged(f"{file.path}: it belongs to another store")
            if expected is not None and segment.first != expected:
                raise Damaged(f"{file.path}: it begins with {segment.first}, expected {expected}")
            if segment.length is not None:
                frames = file.frames(sealed_end(file, segment))
            elif segment.frames_end is not None:
                frames = file.frames(segment.frames_end)
            else:
                frames = file.frames_to_tail(self.closed[1] if self.closed else 0)
            summary = [0, 0, 0]
            expected = segment.first
            for frame in frames:
                if frame.first != expected:
                    raise Damaged(f"{file.path}, byte {frame.offset}: it begins with {frame.first}, expected {expected}")
                expected = frame.first + frame.positions
                for event in frame_events(file, frame):
                    low, high = hash128(event.payload, seed_at(event.zone, event.position))
                    summary[0] += 1
                    summary[1] = (summary[1] + low) & WORD
                    summary[2] = (summary[2] + high) & WORD
                    yield event
            if segment.last is not None and expected != segment.last + 1:
                raise Damaged(f"{file.path}: its last position is {expected - 1}, expected {segment.last}")
            if segment.length is not None:
                check_summary(file, summary)


def sealed_end(file, segment):
    """Where the frames of a sealed segment end; checks its trailer and footer."""
    if file.length != segment.length:
        raise Damaged(f"{file.path}: it has {file.length} bytes, expected {segment.length}")
    trailer = file.read(file.length - TRAILER, TRAILER)
    offset, length, check = struct.unpack_from("<QQQ", trailer)
    if trailer[24:] != b"TIDEFOOT" or hash64(trailer[:16], file.seed(offset) + 3) != check:
        raise Damaged(f"{file.path}: the trailer is damaged")
    header = file.read(offset, FOOTER_HEADER)
    if header[:4] != b"TFTR" or hash64(header[:152], file.seed(offset)) != struct.unpack_from("<Q", header, 152)[0]:
        raise Damaged(f"{file.path}: the footer is damaged")
    blocks, _, rest = struct.unpack_from("<III", header, 96)
    directory = file.read(offset + FOOTER_HEADER, blocks * BLOCK_ENTRY)
    postings = file.read(offset + FOOTER_HEADER + len(directory), rest)
    checks = struct.unpack_from("<QQ", header, 120)
    if (hash64(directory, file.seed(offset) + 1), hash64(postings, file.seed(offset) + 2)) != checks:
        raise Damaged(f"{file.path}: the directory or the postings of the footer are damaged")
    file.footer = header
    return offset


def check_summary(file, summary):
    (count,) = struct.unpack_from("<Q", file.footer, 24)
    low, high = struct.unpack_from("<QQ", file.footer, 72)
    if summary != [count, low, high]:
        raise Damaged(f"{file.path}: the events are not those that the footer counts")


def frame_events(file, frame):
    if frame.kind not in (COMMITS, STRIPE):
        return []
    blocks = [block for block in frame.blocks if not block.is_map]
    if frame.kind == COMMITS:
        return (event for block in blocks for event in block_events(file, block))
    # In a stripe the blocks of zones lie one after another: the events are put in order again.
    return sorted(
        (event for block in blocks for event in block_events(file, block)),
        key=lambda event: event.position,
    )


def block_events(file, block):
    reader = Reader(file.block(block), f"{file.path}, block at byte {block.offset}")
    position, commit, pending = block.first, None, None
    while reader:
        kind = reader.number("B")
        if kind == 1:
            events, index, time = reader.varint(), reader.varint(), reader.zigzag()
            received = time + reader.zigzag()
            pending = (index, events, time, received, reader.take(reader.varint()))
        elif kind == 2:
            if pending:
                commit = Commit(position - pending[0], *pending[1:])
                pending = None
            if commit is None:
                raise Damaged(f"{reader.what}: an event comes before its commit")
            zone = reader.varint()
            yield Event(position, zone, reader.take(reader.varint()), commit)
            position += 1
        elif kind == 3:
            position += reader.varint()
        else:
            raise Damaged(f"{reader.what}: an entry of kind {kind}")
    if position != block.first + block.positions:
        raise Damaged(f"{reader.what}: it covers up to {position - 1}, its entry says {block.positions} positions")
