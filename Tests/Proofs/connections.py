"""10,000 connections opened and dropped leave the server's memory and descriptors as before.

They are dropped in every way: before a request, within its head, within its body, after it but before the answer,
after the answer; with the end of a stream, and with a reset. Up to 500 are open at once.
"""

import random
import socket
import struct

from served import Server, expect, prove, wait_for

COUNT = 10_000
AT_ONCE = 500
# What an allocator keeps for later may differ from one moment to the next; a leak of one KiB by connection would be
# 10 MiB.
MEMORY = 4 << 20


def drop_some(server, count, chance):
    """Opens connections, leaves each at a point of its own, and drops them all."""
    body = b'{"records":[{"recordName":"a"}]}'
    head = (
        f"POST /database/1/iCloud.tidemark/development/public/records/lookup?ckAPIToken={server.token} HTTP/1.1\r\n"
        f"Host: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    connections = []
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        connections.append(connection)
        left = chance.randrange(5)
        if left == 1:
            connection.sendall(head[: chance.randrange(1, len(head))])
        elif left == 2:
            connection.sendall(head + body[: chance.randrange(len(body))])
        elif left >= 3:
            connection.sendall(head + body)
            if left == 4:
                expect(connection.recv(1000).startswith(b"HTTP/1.1 200"), "a request among many was not answered")
    for connection in connections:
        if chance.random() < 0.5:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


def proof(program, folder):
    seed = random.randrange(10_000)
    chance = random.Random(seed)
    server = Server(program, folder / "store.tide")
    try:
        # The first answer opens the journal's file, which stays open.
        idle = server.descriptors() + 1
        settled = lambda: server.descriptors() <= idle
        drop_some(server, AT_ONCE, chance)
        wait_for("descriptors to be given back", settled)
        idle = server.descriptors()
        # The allocator comes to rest with the first 10,000.
        for _ in range(COUNT // AT_ONCE):
            drop_some(server, AT_ONCE, chance)
            wait_for("descriptors to be given back", settled)
        before = server.memory()
        for _ in range(COUNT // AT_ONCE):
            drop_some(server, AT_ONCE, chance)
        wait_for("descriptors to be given back", settled)
        grown = server.memory() - before
        expect(grown < MEMORY, f"seed {seed}: {COUNT} connections left {grown >> 10} KiB, {before >> 10} before")
        expect(server.ready() == (200, "ready"), "the server is not ready afterwards")
        print(f"  {COUNT} connections: {idle} descriptors as before, memory {before >> 10} KiB and {grown >> 10} more")
        server.end()
    finally:
        server.kill()


prove(proof)
