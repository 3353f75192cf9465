"""The ways in which a program is told where a Kubernetes API server is and who it is itself."""

import base64
from pathlib import Path


def encoded(file):
    return base64.b64encode(Path(file).read_bytes()).decode()


def kubeconfig(path, url, token=None, token_file=None, client=None, client_data=None, ca=None, ca_data=None,
               insecure=False, namespace=None):
    """Writes a kubeconfig file with two contexts, of which the right one is current; gives its path.

    `client`: (certificate, key) files that it names; `client_data`: such files that it contains. `ca`, `ca_data`: the
    authority's file, named or contained.
    """
    cluster = [f"server: {url}"]
    if ca:
        cluster.append(f"certificate-authority: {ca}")
    if ca_data:
        cluster.append(f"certificate-authority-data: {encoded(ca_data)}")
    if insecure:
        cluster.append("insecure-skip-tls-verify: true")
    user = []
    if token:
        user.append(f"token: {token}")
    if token_file:
        user.append(f"tokenFile: {token_file}")
    for names, files, what in ((("client-certificate", "client-key"), client, str),
                               (("client-certificate-data", "client-key-data"), client_data, encoded)):
        user += [f"{name}: {what(file)}" for name, file in zip(names, files or ())]
    context = ["cluster: here", "user: me"] + ([f"namespace: {namespace}"] if namespace else [])
    Path(path).write_text(f"""\
apiVersion: v1
kind: Config
preferences: {{}}
current-context: right
clusters:
- name: elsewhere
  cluster:
    server: https://127.0.0.1:1
- name: here
  cluster:
{indented(cluster)}
users:
- name: nobody
  user: {{}}
- name: me
  user:{" {}" if not user else chr(10) + indented(user)}
contexts:
- name: wrong
  context: {{cluster: elsewhere, user: nobody}}
- name: right
  context:
{indented(context)}
""", encoding="utf-8")
    return Path(path)


def indented(lines):
    return "\n".join("    " + line for line in lines)


def service_account(folder, token, ca, namespace="default"):
    """Makes the folder that a pod finds at /var/run/secrets/kubernetes.io/serviceaccount; gives its path.

    As there, the files are links through a folder that is replaced when the token is renewed: call it again.
    """
    folder = Path(folder)
    folder.mkdir(exist_ok=True)
    version = folder / f"..{sum(1 for _ in folder.glob('..*'))}"
    version.mkdir()
    (version / "token").write_text(token)
    (version / "namespace").write_text(namespace)
    (version / "ca.crt").write_bytes(Path(ca).read_bytes())
    fresh = folder / "..fresh"
    fresh.symlink_to(version.name)
    fresh.rename(folder / "..data")
    for name in ("token", "namespace", "ca.crt"):
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    return folder


def in_cluster(port):
    """The environment variables by which a pod finds the API server."""
    return {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(port)}
