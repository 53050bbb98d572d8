#!/bin/bash
# fleet_manifests_test.sh FILE PROGRAM PAGE: what Kubernetes would refuse, as far as it can be seen without one. Exit code 77: there is no python3-yaml.
set -uo pipefail
python3 -c 'import yaml' 2>/dev/null || { echo "SKIPPED: python3-yaml is not there" >&2; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2" work --help >"$folder/help" || exit 1
python3 - "$1" "$folder" <<'END' || exit 1
import re
import sys

import yaml

KINDS = {"ConfigMap": "v1", "Service": "v1", "StatefulSet": "apps/v1", "Deployment": "apps/v1", "PodDisruptionBudget": "policy/v1"}
POD = {"terminationGracePeriodSeconds", "securityContext", "affinity", "containers", "volumes", "automountServiceAccountToken"}
CONTAINER = {"name", "image", "command", "args", "env", "envFrom", "ports", "readinessProbe", "securityContext", "resources", "volumeMounts"}
# Those that a user makes, as the first lines say.
text = open(sys.argv[1]).read()
made = set(re.findall(r"^#   kubectl -n runnel create \w+(?: \w+)? (nats-\w+|runnel-\w+)", text, re.M))
assert made == {"runnel-users", "nats-tls", "nats-ca", "nats-rights"}, made
help = open(sys.argv[2] + "/help").read()
parts = list(yaml.safe_load_all(text))
names = {(part["kind"], part["metadata"]["name"]) for part in parts}
assert len(names) == len(parts), "two of one name"
for part in parts:
    where = part["kind"] + " " + part["metadata"]["name"]
    assert KINDS[part["kind"]] == part["apiVersion"], where
    assert part["metadata"]["namespace"] == "runnel" and re.fullmatch(r"[a-z][a-z0-9-]*", part["metadata"]["name"]), where
    if part["kind"] not in ("StatefulSet", "Deployment"):
        continue
    spec, template = part["spec"], part["spec"]["template"]
    assert spec["selector"]["matchLabels"] == template["metadata"]["labels"], where
    pod = template["spec"]
    assert set(pod) <= POD, f"{where}: {set(pod) - POD}"
    assert pod["securityContext"]["runAsNonRoot"] is True, where
    volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
    for volume in volumes.values():
        source = volume["configMap"]["name"] if "configMap" in volume else volume["secret"]["secretName"]
        assert source in made or ("ConfigMap", source) in names, f"{where}: {source} is not there"
    claimed = {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
    for container in pod["containers"]:
        assert set(container) <= CONTAINER, f"{where}: {set(container) - CONTAINER}"
        assert {mount["name"] for mount in container["volumeMounts"]} == set(volumes) | claimed, where
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False and security["readOnlyRootFilesystem"] is True, where
        assert "memory" in container["resources"]["limits"], where
        ports = {port["name"] for port in container.get("ports", [])}
        assert container.get("readinessProbe", {}).get("httpGet", {}).get("port", "monitor") in ports | {"monitor"}, where
        if container["command"][0:2] == ["runnel", "work"] if "command" in container else False:
            for option in container["args"]:
                name = option.split("=")[0]
                assert re.search(re.escape(name) + r"\b", help), f"{where}: runnel work has no {name}"
for part in parts:
    if part["kind"] == "Service":
        assert any(other["kind"] == "StatefulSet" and other["spec"]["serviceName"] == part["metadata"]["name"] for other in parts)
    if part["kind"] == "ConfigMap":
        open(sys.argv[2] + "/nats.conf", "w").write(part["data"]["nats.conf"])
END
server=$(command -v nats-server || echo /usr/sbin/nats-server)
if [[ ! -x $server ]]; then echo "LEFT OUT: nats-server is not there" >&2; exit 0; fi
if ! command -v openssl >/dev/null; then echo "LEFT OUT: openssl is not there" >&2; exit 0; fi
# The server's own reading of its configuration, with the rights of the page.
mkdir -p "$folder/rights" "$folder/tls"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$folder/tls/tls.key" -out "$folder/tls/tls.crt" -subj /CN=nats -days 2 2>/dev/null || exit 1
sed -n '/^authorization {/,/^}/p' "$3" >"$folder/rights/rights.conf"
sed -i "s|/etc/nats/tls|$folder/tls|g" "$folder/nats.conf"
SERVER_NAME=nats-0 ADMIN_PASSWORD=a DEVICE_PASSWORD=b WORKER_PASSWORD=c READER_PASSWORD=d "$server" -c "$folder/nats.conf" -t >"$folder/said" 2>&1 || {
  cat "$folder/said" >&2
  exit 1
}
# A mistake is found.
echo 'jetstream {store: nowhere' >>"$folder/nats.conf"
if SERVER_NAME=nats-0 "$server" -c "$folder/nats.conf" -t >/dev/null 2>&1; then echo "nats-server -t finds no mistake" >&2; exit 1; fi
