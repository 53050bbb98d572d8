#!/bin/bash
# slurm_host.sh FOLDER COMMAND...: a Slurm of two nodes on this machine, for one command. Everything that it starts ends with it. 77: Slurm or munge is missing.
set -uo pipefail
folder=$1
shift
for program in munged slurmctld slurmd sbatch; do command -v "$program" >/dev/null || { echo "$program is missing" >&2; exit 77; }; done
mkdir -p "$folder"/{log,state,spool}
folder=$(cd "$folder" && pwd -P)
host=$(hostname -s)
base=$((20000 + $$ % 20000))
cat > "$folder/slurm.conf" <<END
ClusterName=runnel
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$base
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket=$folder/munge.sock
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/controller.pid
SlurmdPidFile=$folder/%n.pid
SlurmctldLogFile=$folder/log/controller.log
SlurmdLogFile=$folder/log/%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
NodeName=n1 NodeHostName=$host NodeAddr=127.0.0.1 Port=$((base + 1)) CPUs=1 RealMemory=500
NodeName=n2 NodeHostName=$host NodeAddr=127.0.0.1 Port=$((base + 2)) CPUs=1 RealMemory=500
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF=$folder/slurm.conf
head -c 128 /dev/urandom > "$folder/munge.key"
chmod 600 "$folder/munge.key"
started=()
trap 'kill "${started[@]}" 2>/dev/null; wait' EXIT
begin() {
  "$@" >"$folder/log/$1-${#started[@]}.out" 2>&1 &
  started+=($!)
}
begin munged -F --force --key-file="$folder/munge.key" --socket="$folder/munge.sock" --pid-file="$folder/munged.pid" --log-file="$folder/log/munged.log" --seed-file="$folder/munge.seed"
for _ in $(seq 100); do [[ -S $folder/munge.sock ]] && break; sleep 0.1; done
begin slurmctld -D -f "$SLURM_CONF"
begin slurmd -D -N n1 -f "$SLURM_CONF"
begin slurmd -D -N n2 -f "$SLURM_CONF"
for _ in $(seq 300); do
  [[ $(sinfo -h -N -o %T 2>/dev/null | grep -c idle) -eq 2 ]] && break
  sleep 0.1
done
if [[ $(sinfo -h -N -o %T 2>/dev/null | grep -c idle) -ne 2 ]]; then
  echo "the nodes of Slurm did not come up:" >&2
  tail -n 5 "$folder"/log/* >&2
  exit 1
fi
"$@"
status=$?
scontrol shutdown >/dev/null 2>&1
sleep 1
exit "$status"
