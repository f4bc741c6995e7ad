"""Asks at `/authorize` as many strangers would, over a few connections, and counts the answers. Standard library only.

strangers.py HOST:PORT CLIENT COUNT
"""

import collections
import http.client
import sys
import urllib.parse

address, client, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
statuses: collections.Counter[int] = collections.Counter()
connection = http.client.HTTPConnection(address, timeout=60)
for number in range(count):
    query = {
        "response_type": "code",
        "client_id": client if number % 2 else f"https://host-{number}.example/client.json",
        "redirect_uri": "http://127.0.0.1/callback",
        "state": f"state-{number}",
        "code_challenge": f"{number:043}",
        "code_challenge_method": "S256",
    }
    connection.request("GET", "/authorize?" + urllib.parse.urlencode(query))
    response = connection.getresponse()
    response.read()
    statuses[response.status] += 1
print(" ".join(f"{status}:{number}" for status, number in sorted(statuses.items())))
