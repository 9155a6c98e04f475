"""Requests that schemathesis makes from Docs/openapi.yaml: none is answered by a status of 500 or more.

Usage: fuzz.py PROGRAM SCHEMATHESIS [EXAMPLES]   at most so many requests of each kind for each operation
"""

import json
import pathlib
import random
import subprocess
import sys

from served import CONTAINER, Server, expect, prove

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "Docs" / "openapi.yaml"
# An upgrade of a connection and what never ends have proofs of their own.
SECONDS = 900


def proof(program, folder):
    schemathesis = sys.argv[2]
    examples = sys.argv[3] if len(sys.argv) > 3 else "60"
    seed = random.randrange(10_000)
    server = Server(program, folder / "store.tide", "--rate-limit", "sign-in=1000000/1s")
    try:
        web = server.sign_in()
        # Most requests are for a place that there is, from somebody who may be there; what others get is
        # generated too, with credentials that are none.
        parameters = {"container": CONTAINER, "environment": "development"}
        lines = ["[parameters]"] + [f"{name} = {json.dumps(value)}" for name, value in parameters.items()]
        lines += ["[auth.openapi.apiToken]", f"api_key = {json.dumps(server.token)}"]
        lines += ["[auth.openapi.webAuthToken]", f"api_key = {json.dumps(web)}"]
        settings = folder / "schemathesis.toml"
        settings.write_text("\n".join(lines) + "\n")
        done = subprocess.run(
            [
                schemathesis, "--config-file", settings, "run", SCHEMA, "--url", server.address,
                "--checks", "not_a_server_error", "--phases", "examples,coverage,fuzzing",
                "--max-examples", examples, "--seed", str(seed), "--continue-on-failure",
                "--request-timeout", "30", "--suppress-health-check", "all", "--generation-database", "none",
                "--warnings", "off", "--no-color",
            ],
            cwd=folder, capture_output=True, text=True, timeout=SECONDS,
        )
        expect(server.is_alive(), f"seed {seed}: the server ended\n{done.stdout[-3000:]}")
        expect(done.returncode == 0, f"seed {seed}: {done.stdout[-8000:]}{done.stderr[-2000:]}")
        summary = [line.strip() for line in done.stdout.splitlines() if "generated" in line or "Tested:" in line]
        print(f"  seed {seed}: {'; '.join(summary)}")
        server.end()
        server.expect_sound()
    finally:
        server.kill()


prove(proof)
