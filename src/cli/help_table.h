// The help of each command: its purpose in one sentence, and examples that work as they stand once the servers and
// files that they name are there.
#pragma once

#include <string_view>

namespace bellwether::cli {

struct HelpRow {
  std::string_view path;  // "cluster up"
  std::string_view purpose;
  std::string_view examples;  // lines
};

inline constexpr HelpRow kHelpRows[] = {
    {"run", "Run a load test: a scenario file, or one URL",
     "bellwether run http://127.0.0.1:18080/json --vus 50 --duration 10s\n"
     "bellwether run http://127.0.0.1:18080/pay -X POST -b '{}' -H 'Content-Type: application/json' --rate 200/s\n"
     "bellwether run examples/first.yaml --set BASE=http://127.0.0.1:18080 --out json=result.json --ui none\n"
     "bellwether run examples/first.yaml --cluster local         on the cluster of `bellwether cluster up`"},
    {"check", "Check a scenario file without sending anything",
     "bellwether check examples/first.yaml --set BASE=http://127.0.0.1:8080\n"
     "bellwether check --schema > scenario.schema.json"},
    {"import", "Write a scenario file from a curl command, a recording, an API document or a collection",
     "bellwether import curl 'curl -d qty=2 http://127.0.0.1:18080/cart' -o cart.yaml\n"
     "bellwether import har recording.har --host shop.example -o shop.yaml"},
    {"import curl", "Write a scenario file from command lines of curl",
     "bellwether import curl 'curl -d qty=2 http://127.0.0.1:18080/cart' -o cart.yaml\n"
     "bellwether import curl requests.sh > requests.yaml"},
    {"import har", "Write a scenario file from the recording of a browser (HAR)",
     "bellwether import har recording.har --host shop.example --pauses -o shop.yaml"},
    {"import openapi", "Write a scenario file from an OpenAPI document, a step for each operation",
     "bellwether import openapi openapi.yaml -o api.yaml"},
    {"import postman", "Write a scenario file from a collection of Postman",
     "bellwether import postman shop.postman_collection.json -o shop.yaml"},
    {"target", "Serve HTTP to try load tests on, with faults on demand",
     "bellwether target\n"
     "bellwether target --latency 20ms-80ms --error-rate 0.01\n"
     "bellwether target --stall-every 20s --stall-for 1s     answers nothing in the last second of each 20 s\n"
     "bellwether target --tls --ca-out ca.pem                makes a certificate and writes what clients must trust"},
    {"build", "Compile a workflow that is written in C++",
     "bellwether build examples/shop.cc -o shop.bw\n"
     "openssl genpkey -algorithm ed25519 -out load.key\n"
     "openssl pkey -in load.key -pubout -out load.pub       for the workers\n"
     "bellwether build examples/shop.cc -o shop.bw --sign-key load.key"},
    {"ctl", "Show and control the runs in progress on this machine",
     "bellwether ctl\n"
     "bellwether ctl last vus 50\n"
     "bellwether ctl 3f2a pause\n"
     "bellwether ctl last stop"},
    {"report", "Write reports of a finished run",
     "bellwether report last --to html=report.html\n"
     "bellwether report result.json --to csv=series.csv --to junit=junit.xml\n"
     "bellwether report last~1 --to hdr:browse.list=list.hgrm"},
    {"results", "List, show, compare, export and delete stored runs",
     "bellwether results list\n"
     "bellwether results compare last~1 last --tolerance 5%"},
    {"results list", "List the stored runs, newest first", "bellwether results list --json"},
    {"results show", "Show the result of a stored run", "bellwether results show last~1 --json"},
    {"results delete", "Delete stored runs", "bellwether results delete 5f0c last~9"},
    {"results export", "Write a stored run to a file",
     "bellwether results export last baseline.db\n"
     "bellwether results compare baseline.db last"},
    {"results compare", "Tell whether a run is worse than earlier runs",
     "bellwether results compare last~1 last\n"
     "bellwether results compare last~3 last~2 last~1 last --tolerance 10%\n"
     "bellwether results compare baseline.db last --json"},

    {"cluster", "Start, inspect and operate a cluster of nodes",
     "bellwether cluster up                      a whole cluster on this machine\n"
     "bellwether cluster members                 of the current cluster\n"
     "bellwether cluster leader --cluster m1.yaml --json"},
    {"cluster up", "Start a whole cluster on this machine, with secrets and certificates",
     "bellwether cluster up\n"
     "bellwether cluster up --managers 5 --workers 4 --cluster /tmp/flock"},
    {"cluster down", "Stop the cluster on this machine",
     "bellwether cluster down\n"
     "bellwether cluster down --cluster /tmp/flock --purge     removes its data too"},
    {"cluster status", "Show the cluster on this machine: processes, members, leader", "bellwether cluster status"},
    {"cluster use", "Choose the current cluster, or list the known clusters",
     "bellwether cluster use\n"
     "bellwether cluster use /etc/bellwether/client.yaml\n"
     "bellwether cluster use client.yaml --as staging\n"
     "bellwether cluster use local"},
    {"cluster members", "List the nodes of a cluster and their states", "bellwether cluster members --cluster perf"},
    {"cluster leader", "Show the leader, its term, and the evidence for it", "bellwether cluster leader --json"},
    {"cluster quorum", "Show the voters: which are alive, and how many are needed", "bellwether cluster quorum"},
    {"cluster votes", "Show the last scored election: candidates, scores, votes",
     "bellwether cluster votes --messages"},
    {"cluster elect", "Make the admin step down, so that the nodes elect again by scores",
     "bellwether cluster elect --force"},
    {"cluster leave", "Make a node hand over its work, leave the cluster, and end",
     "bellwether cluster leave --cluster perf --node 10.0.0.3:9000"},
    {"cluster drain", "Make a worker finish its work, leave the cluster, and end", "bellwether cluster drain w1"},
    {"cluster transfer", "Make the leader hand over to another node without a gap",
     "bellwether cluster transfer --cluster perf --to m2"},
    {"cluster voters", "Change the set of voters, one at a time", "bellwether cluster voters add m4"},
    {"cluster voters add", "Add a voter", "bellwether cluster voters add m4"},
    {"cluster voters remove", "Remove a voter", "bellwether cluster voters remove m2"},
    {"cluster keys", "Show and rotate the shared secret of a cluster", "bellwether cluster keys list"},
    {"cluster keys list", "List the names of the secrets that a node knows, the one in use first",
     "bellwether cluster keys list"},
    {"cluster keys rotate", "Replace the secret of a running cluster without downtime",
     "openssl rand -base64 32 > new-secret\n"
     "bellwether cluster keys rotate --cluster perf --secret-file new-secret"},
    {"job", "Submit, watch and control load tests on a cluster",
     "bellwether job submit examples/first.yaml --set BASE=http://127.0.0.1:18080\n"
     "bellwether job list"},
    {"job submit", "Submit a scenario to a cluster without waiting for its end",
     "bellwether job submit examples/first.yaml --set BASE=http://127.0.0.1:18080"},
    {"job status", "Show the state of a job: workflows, workers, losses",
     "bellwether job status 5f0c2a9e11d04b7a --steps"},
    {"job watch", "Follow a job to its end, as `bellwether run` does; Ctrl-C leaves the job running",
     "bellwether job watch 5f0c2a9e11d04b7a"},
    {"job results", "Show or write the result of a finished job",
     "bellwether job results 5f0c2a9e11d04b7a --out json=result.json"},
    {"job cancel", "Stop a job, or some of its workflows",
     "bellwether job cancel 5f0c2a9e11d04b7a --why 'wrong target'"},
    {"job vus", "Set the virtual users of a workflow with the executor externally-controlled",
     "bellwether job vus 5f0c2a9e11d04b7a 200"},
    {"job list", "List all jobs that the managers know, newest first", "bellwether job list --json"},
    {"job workers", "List the workers and their free cores", "bellwether job workers"},
    {"job datacenters", "List the datacenters: managers, workers, free cores, health", "bellwether job datacenters"},
    {"manager", "Run a manager: it accepts jobs and distributes them to workers",
     "bellwether manager --config m1.yaml --first-start\n"
     "bellwether manager --config m1.yaml"},
    {"worker", "Run a worker: it makes load for the jobs of managers",
     "bellwether worker --config w1.yaml\n"
     "bellwether worker --set cluster=demo --set name=w1 --set seeds=10.0.0.1 --set secret.file=secret \\\n"
     "    --set cores=3\n"
     "bellwether worker --config w1.yaml --trust-keys load.pub"},
    {"worker drain", "Make a worker finish its work, leave the cluster, and end", "bellwether worker drain w1"},
    {"node", "Run a node of a cluster: member, voter, manager or worker",
     "openssl rand -base64 32 > secret && chmod 600 secret\n"
     "bellwether node --config m1.yaml --first-start\n"
     "bellwether node --set cluster=demo --set name=w1 --set role=worker --set seeds=10.0.0.1 \\\n"
     "    --set secret.file=secret"},
    {"config", "Show the settings of a node", "bellwether config show --config m1.yaml"},
    {"config show", "Show each setting, its value, and the source of the value",
     "bellwether config show\n"
     "bellwether config show --config m1.yaml --set profile=wan"},

    {"lead", "Run a command only while this process leads a key; one leader at a time",
     "bellwether lead --via flock: --key nightly -- ./report.sh\n"
     "bellwether lead --via redis://10.0.0.5 --key orders --ttl 10s -- ./worker\n"
     "bellwether lead --via etcd://a,b,c --key orders --observe\n"
     "bellwether lead --via quorum:m1.yaml --first-start -- ./worker\n"
     "bellwether lead --via k8s:default --key orders -n -E 9 -c 'echo epoch $BELLWETHER_EPOCH'"},
    {"lease", "Show who holds a key; ask for it, or take it away",
     "bellwether lease list --via redis://10.0.0.5\n"
     "bellwether lease show orders --via etcd://a,b,c --json"},
    {"lease list", "List the keys of a store, or the loops of a policy sheet",
     "bellwether lease list --via redis://10.0.0.5\n"
     "bellwether lease list --policy policy.yaml --metrics node-1:9464 --metrics node-2:9464"},
    {"lease show", "Show one key: its holder, epoch, age, and remaining time",
     "bellwether lease show orders --via redis://10.0.0.5"},
    {"lease watch", "Print each change of leader until Ctrl-C", "bellwether lease watch orders --via redis://10.0.0.5"},
    {"lease release", "Ask the holder to stop and to release the key",
     "bellwether lease release orders --via redis://10.0.0.5"},
    {"lease transfer", "Ask the holder to hand over to another candidate",
     "bellwether lease transfer orders --to node-2 --via redis://10.0.0.5"},
    {"lease steal", "Take the key away at once",
     "bellwether lease steal orders --to node-2 --via redis://10.0.0.5 --yes"},
    {"lease repair", "Free a key whose epochs were lost or are in doubt",
     "bellwether lease repair orders --via flock:/run/locks --epoch-floor 41 --yes"},
    {"lease serve", "Serve a web page of all keys, to look at them and to hand them over",
     "bellwether lease serve --via redis://10.0.0.5 --audit /var/log/leases.json"},
    {"budget", "Compute how long a key can be without a leader",
     "bellwether budget examples/leadership/policy.yaml\n"
     "bellwether budget --profile high-availability\n"
     "bellwether budget --via redis://127.0.0.1:6379 --ttl 15s\n"
     "bellwether budget --of-cluster --config examples/cluster/m1.yaml --nodes 100"},
    {"doctor", "Check the health of leadership, and say what to do about each problem",
     "bellwether doctor --policy examples/leadership/policy.yaml\n"
     "bellwether doctor --dir /srv/fleet --history epochs.json\n"
     "bellwether doctor --via redis://10.0.0.5 --key orders\n"
     "bellwether doctor --cluster perf               the leader and the votes of a cluster"},
    {"drill", "Break the leader of a loop, and measure the takeover",
     "bellwether drill policy.yaml --loop delay_poller --fault pause --rounds 10 --report drill.json\n"
     "bellwether drill policy.yaml --loop delay_poller --attach --yes --rounds 1 --scenario peak.yaml"},
    {"loops", "Show the loops of a policy sheet and who holds each, or run them",
     "bellwether loops policy.yaml\n"
     "bellwether loops run policy.yaml --on-tick 'reconciler=./reconcile --once'"},
    {"loops run", "Run loops of a policy sheet, each only while holding its lock",
     "bellwether loops run policy.yaml --loop delay_poller --on-tick 'delay_poller=./poll-delays' \\\n"
     "    --metrics 127.0.0.1:9464"},
    {"alerts", "Print Prometheus rules for the loops of a policy sheet",
     "bellwether alerts examples/leadership/policy.yaml > rules.yaml && promtool check rules rules.yaml"},
    {"watch", "Keep the leader's process running, and restart it when it is frozen",
     "bellwether watch --via file:lease.json --key default --state watch.json -- ./orchestrator\n"
     "bellwether watch --restart --state watch.json"},

    {"agents", "Run a fleet of agents with one leader and a queue of tasks",
     "bellwether agents lead --dir fleet --id a1 -- ./do-task.sh\n"
     "bellwether agents list --dir fleet"},
    {"agents lead", "Lead the fleet and run its tasks, or follow the leader",
     "bellwether agents lead --dir fleet --id a1 -- ./do-task.sh\n"
     "bellwether agents lead --dir fleet --via redis://10.0.0.5 --profile high-availability -- ./do-task.sh"},
    {"agents tasks", "List and change the tasks in the queue of a fleet", "bellwether agents tasks list --dir fleet"},
    {"agents tasks list", "List the tasks that wait, run or have failed, and the progress of the queue",
     "bellwether agents tasks list --dir fleet --state failed"},
    {"agents tasks add", "Add tasks; a known name is not added again",
     "bellwether agents tasks add --dir fleet nightly --payload '{\"day\": 1}'"},
    {"agents tasks retry", "Put failed tasks back into the queue", "bellwether agents tasks retry --dir fleet --all"},
    {"agents tasks drop", "Remove tasks that no agent is working on",
     "bellwether agents tasks drop --dir fleet nightly"},
    {"agents tasks resume", "Resume a halted queue", "bellwether agents tasks resume --dir fleet"},
    {"agents list", "List the agents, the leader, and its successor",
     "bellwether agents list --dir fleet\n"
     "bellwether agents list --registry fleet.json --via file:lease.json --key default"},
    {"agents register", "Register an agent, or update its entry",
     "bellwether agents register --registry fleet.json --id w1 --role worker"},
    {"agents heartbeat", "Report that an agent is alive", "bellwether agents heartbeat --registry fleet.json --id w1"},
    {"agents deregister", "Remove an agent", "bellwether agents deregister --registry fleet.json --id w1"},
    {"context", "Request contexts for language models from a cluster with one leader",
     "bellwether context serve m1.yaml --manager './make-context'\n"
     "bellwether context submit request.json --cluster m1.yaml --priority 5 --wait"},
    {"context serve", "Run a manager that makes contexts while it leads its cluster",
     "bellwether context serve m1.yaml --manager './make-context --model small' --first-start\n"
     "bellwether context serve m1.yaml"},
    {"context submit", "Submit a request, from a file or standard input, and print its id",
     "bellwether context submit request.json --cluster m1.yaml --priority 5 --wait"},
    {"context result", "Show the state of a request, and its result",
     "bellwether context result 0123456789abcdef0123456789abcdef --cluster m1.yaml --wait"},
    {"context status", "Show the leader, the queue, and the health of all nodes",
     "bellwether context status --cluster m1.yaml"},
    {"context transfer", "Hand the leadership over to another node; no request is lost",
     "bellwether context transfer m2 --cluster m1.yaml --reason maintenance"},
    {"context start", "Let the leader make contexts", "bellwether context start --cluster m1.yaml"},
    {"context stop", "Make the leader stop making contexts", "bellwether context stop --cluster m1.yaml"},
    {"keys", "Split a key among nodes, and sign the capabilities of nodes",
     "bellwether keys split --names m1,m2,m3 --out shares\n"
     "bellwether keys verify --commitment shares/key.commitment shares/m1.share"},
    {"keys split", "Split a key into one key share a node, with a public commitment",
     "bellwether keys split --names m1,m2,m3 --out shares"},
    {"keys verify", "Check that key shares belong to a commitment",
     "bellwether keys verify --commitment shares/key.commitment shares/m1.share"},
    {"keys combine", "Recover the key from enough key shares, after a disaster",
     "bellwether keys combine --commitment key.commitment m1.share m3.share --out admin.key"},
    {"keys attest", "Sign the capabilities of a node, so that nodes cannot invent their own",
     "openssl genpkey -algorithm ed25519 -out operator.key\n"
     "bellwether keys attest --key operator.key --cluster-name flock --node m1 --capabilities admin_election"},
    {"sim", "Test elections and clusters in simulated worlds with faults and virtual time",
     "bellwether sim --world leadership-redis --seeds 10000\n"
     "bellwether sim --world leadership-redis --seed 4711\n"
     "bellwether sim --world leadership-redis --mistake counts-from-answer --seeds 3000\n"
     "bellwether sim --world membership-grid"},
    {"help", "Show the help of a command, or write the reference of all commands", "bellwether help cluster up"},
    {"version", "Show the version", "bellwether version"},
};

}  // namespace bellwether::cli
