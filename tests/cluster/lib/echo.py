"""Sends back what it gets, by UDP and TCP, on one port of IPv4 and IPv6: python3 -B echo.py PORT"""

import socket
import sys
import threading


def datagrams(port):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as server:
        server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        server.bind(("::", port))
        while True:
            data, sender = server.recvfrom(65536)
            server.sendto(data, sender)


def serve(connection):
    with connection:
        while data := connection.recv(65536):
            connection.sendall(data)


def main(port):
    server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    threading.Thread(target=datagrams, args=[port], daemon=True).start()
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=[connection], daemon=True).start()


if __name__ == "__main__":
    main(int(sys.argv[1]))
