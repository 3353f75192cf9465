"""A certificate authority for a test, and certificates of it."""

import subprocess


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE)


class Authority:
    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.name = name
        self.file = folder / f"{name}.pem"
        openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")

    def issue(self, name, alternative, days=1):
        """Makes NAME.pem and NAME.key in the folder for such a `subjectAltName`; negative days: it has expired."""
        (self.folder / f"{name}.ext").write_text(f"subjectAltName={alternative}\n")
        openssl(self.folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj",
                f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        openssl(self.folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.pem", "-CAkey",
                f"{self.name}.key", "-CAcreateserial", "-days", str(days), "-extfile", f"{name}.ext", "-out",
                f"{name}.pem")
