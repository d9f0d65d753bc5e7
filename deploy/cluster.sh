#!/usr/bin/env bash
# Starts a Redis cluster on this machine, to try things by hand.
#
#   deploy/cluster.sh [-m MASTERS] [-r REPLICAS] [-p PORT] [-d FOLDER]
#
#   -m  how many masters, 3 by default; a fail-over needs at least 3
#   -r  how many replicas for each master, none by default
#   -p  the first port to try, 7000 by default; busy ones are passed over
#   -d  a folder for logs and settings, which is kept; by default a temporary
#       one, which is removed at the end
#
# It prints a line for each server, then the value of --redis alone on a line,
# and runs until Ctrl-C or SIGTERM, which stop the servers it started. They
# listen on 127.0.0.1, keep nothing on disk and evict nothing. A master's death
# is noticed after 2 s.
#
#   deploy/cluster.sh -r 1
#   server --redis redis://127.0.0.1:7000,127.0.0.1:7001,127.0.0.1:7002
set -euo pipefail

masters=3 replicas=0 port=7000 folder='' temporary=''
ports=() pids=()

usage() { sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; }

refuse() {
  echo "cluster.sh: $1" >&2
  exit 2
}

number() { [[ $1 =~ ^[0-9]{1,5}$ ]] || refuse "$1 is no number"; }

while getopts ':m:r:p:d:h' option; do
  case $option in
    m) number "$OPTARG"; masters=$OPTARG ;;
    r) number "$OPTARG"; replicas=$OPTARG ;;
    p) number "$OPTARG"; port=$OPTARG ;;
    d) folder=$OPTARG ;;
    h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
done
((masters >= 1)) || refuse 'a cluster has at least one master'
for program in redis-server redis-cli; do
  command -v "$program" >/dev/null || refuse "$program is not installed"
done

# on runs a command on the server at a port, and fails where it answers an error.
on() { redis-cli -e -h 127.0.0.1 -p "$@"; }

free() { ! (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

stop() {
  trap - EXIT INT TERM
  if ((${#pids[@]})); then
    kill "${pids[@]}" 2>/dev/null || true
    wait "${pids[@]}" 2>/dev/null || true
  fi
  [[ -z $temporary ]] || rm -rf "$temporary"
}

# start runs a server on the next port that is free, with its bus 10000 above.
start() {
  while ! free "$port" || ! free $((port + 10000)); do port=$((port + 1)); done
  ((port <= 55535)) || refuse 'no free port is left'
  rm -f "$folder/nodes-$port.conf" # of a former cluster
  redis-server --port "$port" --bind 127.0.0.1 --dir "$folder" --logfile "redis-$port.log" \
    --save '' --appendonly no --maxmemory-policy noeviction --repl-diskless-sync-delay 0 \
    --cluster-enabled yes --cluster-config-file "nodes-$port.conf" --cluster-node-timeout 2000 &
  pids+=($!) ports+=("$port")
  port=$((port + 1))
}

# await tries a command until it succeeds, for some 30 s.
await() {
  for ((try = 0; try < 300; try++)); do
    "$@" >/dev/null 2>&1 && return
    kill -0 "${pids[@]}" 2>/dev/null || break # one has ended
    sleep 0.1
  done
  echo "cluster.sh: in vain: $*; the logs are in $folder" >&2
  temporary='' # for whoever looks why
  exit 1
}

whole() { on "$1" cluster info | grep -q 'cluster_state:ok' && (($(on "$1" cluster nodes | wc -l) == ${#ports[@]})); }

# follow makes a server the replica of a master that it knows.
follow() { on "$1" cluster replicate "$(on "$2" cluster myid)"; }

# known says whether a server has heard of all who are replicas.
known() { (($(on "$1" cluster nodes | grep -c 'slave') == masters * replicas)); }

synced() { on "$1" info replication | grep -q 'master_link_status:up'; }

trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [[ -z $folder ]]; then
  folder=$(mktemp -d)
  temporary=$folder
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

for ((i = 0; i < masters * (1 + replicas); i++)); do start; done
for at in "${ports[@]}"; do await on "$at" ping; done
for ((i = 0; i < ${#ports[@]}; i++)); do
  on "${ports[i]}" cluster set-config-epoch $((i + 1)) >/dev/null
  if ((i < masters)); then
    on "${ports[i]}" cluster addslotsrange $((i * 16384 / masters)) $(((i + 1) * 16384 / masters - 1)) >/dev/null
  fi
  ((i == 0)) || on "${ports[0]}" cluster meet 127.0.0.1 "${ports[i]}" >/dev/null
done
for at in "${ports[@]}"; do await whole "$at"; done

url=redis://
for ((i = 0; i < ${#ports[@]}; i++)); do
  at=127.0.0.1:${ports[i]}
  if ((i < masters)); then
    echo "master  $at"
    url+=$at,
    continue
  fi
  master=${ports[i % masters]}
  await follow "${ports[i]}" "$master"
  await synced "${ports[i]}"
  echo "replica $at of 127.0.0.1:$master"
done
for at in "${ports[@]}"; do await known "$at"; done
url=${url%,}
((masters > 1)) || url+='?cluster=true'
echo "$url"
wait
