"""A server that a measurement starts, and what the measurements ask of it."""

import http.client
import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import urllib.parse

PLACE = "/database/1/iCloud.tidemark/development/"


class Server:
    def __init__(self, program, folder, tls=False, host="127.0.0.1", options=()):
        self.is_secure = tls
        command = [program, "serve", f"{folder}/s.tide", "--port", "0", "--host", host, *options]
        self.context = None
        if tls:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                 "-subj", "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/chain.pem"],
                check=True, stderr=subprocess.DEVNULL)
            command += ["--certificate", f"{folder}/chain.pem", "--private-key", f"{folder}/key.pem"]
            self.context = ssl.create_default_context()
            self.context.check_hostname = False
            self.context.verify_mode = ssl.CERT_NONE
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        said = ""
        while "/signin" not in said:
            line = self.process.stdout.readline()
            if not line:
                sys.exit("The server did not start.")
            said += line
        self.port = int(re.search(r"https?://[^\s/]+:(\d+)", said)[1])
        self.token = re.search(r"API token\s+(\S+)", said)[1]
        self.host = host if host != "0.0.0.0" else "127.0.0.1"

    def figures(self):
        """MiB that are resident, and open descriptors."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024
        return resident, len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self, host=None):
        connection = http.client.HTTPConnection(host or self.host, self.port, timeout=120)
        connection.connect()
        if self.context:
            connection.sock = self.context.wrap_socket(connection.sock)
        return connection

    def ask(self, connection, path, body=None, headers={}):
        connection.request("POST" if body is not None else "GET", path, body, headers)
        response = connection.getresponse()
        return response, response.read().decode()

    def sign_in(self, name):
        connection = self.connect()
        response, _ = self.ask(connection, f"/signin?ckAPIToken={self.token}")
        state = response.getheader("Location").split("s=", 1)[1]
        form = urllib.parse.urlencode({"email": f"{name}@example.org", "password": "verysecret", "new": 1})
        _, page = self.ask(connection, "/signin", f"s={state}&{form}",
                           {"Content-Type": "application/x-www-form-urlencoded"})
        return re.search(r'id="token">([^<]*)', page)[1]

    def call(self, connection, web, endpoint, body):
        path = f"{PLACE}{endpoint}?ckAPIToken={self.token}&ckWebAuthToken={web}&clientId=writer"
        response, text = self.ask(connection, path, json.dumps(body))
        if response.status != 200 or "serverErrorCode" in text:
            sys.exit(f"{endpoint}: {response.status} {text}")

    def listen(self, web, number, host=None):
        """Opens a stream, and returns its socket without waiting for the answer."""
        sock = self.connect(host).sock
        sock.sendall((f"GET {PLACE}private/changes/stream?ckAPIToken={self.token}&ckWebAuthToken={web}"
                      f"&clientId=listener{number} HTTP/1.1\r\nHost: localhost\r\n\r\n").encode())
        return sock

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(60) != 0:
            sys.exit("The server did not end well.")
