"""Others who use the cable: connections that are full in both directions.

Usage: others.py COUNT HOST PORT: joins those that wait there; with HOST 0.0.0.0 waits for them.
"""

import socket
import sys
import threading
import time

count, host, port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
connections: list[socket.socket] = []
if host == "0.0.0.0":
    door = socket.create_server((host, port))
    connections = [door.accept()[0] for _ in range(count)]
while len(connections) < count:
    try:
        connections.append(socket.create_connection((host, port)))
    except OSError:
        time.sleep(0.1)


def drain(connection: socket.socket) -> None:
    while connection.recv(1 << 16):
        pass


def fill(connection: socket.socket) -> None:
    while True:
        connection.sendall(bytes(1 << 16))


for connection in connections:
    for work in (drain, fill):
        threading.Thread(target=work, args=[connection], daemon=True).start()
time.sleep(1000)
