"""What the Kubernetes API server holds a Lease to: how it is decoded, what is valid, and how refusals are worded."""

import datetime
import re

GROUP = "coordination.k8s.io"
VERSION = f"{GROUP}/v1"
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|[+-]\d\d:\d\d)")
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
SUBDOMAIN_RULE = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and "
                  "must start and end with an alphanumeric character")
INT32 = 2**31


class Refusal(Exception):
    """An answer that is a failure. `causes`: (field, reason, message)."""

    def __init__(self, code, reason, message, name=None, kind="leases", causes=(), headers=()):
        super().__init__(message)
        self.code = code
        self.headers = dict(headers)
        details = {"name": name, "group": GROUP if kind != "namespaces" else None, "kind": kind, "causes": [
            {"reason": why, "message": text, "field": field} for field, why, text in causes]}
        self.status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
                       "reason": reason, "details": {key: value for key, value in details.items() if value},
                       "code": code}


def bad_request(message):
    return Refusal(400, "BadRequest", message)


def not_found(name):
    return Refusal(404, "NotFound", f'leases.{GROUP} "{name}" not found', name)


def already_exists(name):
    return Refusal(409, "AlreadyExists", f'leases.{GROUP} "{name}" already exists', name)


def conflict(name, why="the object has been modified; please apply your changes to the latest version and try again"):
    return Refusal(409, "Conflict", f'Operation cannot be fulfilled on leases.{GROUP} "{name}": {why}', name)


def invalid(name, causes):
    text = ", ".join(f"{field}: {message}" for field, _, message in causes)
    if len(causes) > 1:
        text = f"[{text}]"
    return Refusal(422, "Invalid", f'Lease.{GROUP} "{name}" is invalid: {text}', name, "Lease", causes)


# --- decoding: what is of the wrong type is a bad request, what is unknown is dropped ---

def undecodable(why):
    return bad_request(f'Lease in version "v1" cannot be handled as a Lease: {why}')


def string(value, path):
    if not isinstance(value, str):
        raise undecodable(f"json: cannot unmarshal into Go struct field {path} of type string")
    return value


def strings(value, path):
    if not isinstance(value, dict):
        raise undecodable(f"json: cannot unmarshal into Go struct field {path} of type map[string]string")
    return {key: string(item, path) for key, item in value.items()}


def int32(value, path):
    if isinstance(value, bool) or not isinstance(value, int) or not -INT32 <= value < INT32:
        raise undecodable(f"json: cannot unmarshal into Go struct field {path} of type int32")
    return value


def micro_time(value, path):
    """As the server gives it back: in UTC, with six digits of the second's fraction."""
    if not MICRO_TIME.fullmatch(string(value, path)):
        raise undecodable(f'parsing time "{value}" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "{value}"')
    try:
        moment = datetime.datetime.fromisoformat(value).astimezone(datetime.timezone.utc)
    except (ValueError, OverflowError):
        raise undecodable(f'parsing time "{value}": out of range') from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def anything(value, _):
    return value


METADATA = {"name": string, "namespace": string, "resourceVersion": string, "uid": string,
            "creationTimestamp": anything, "labels": strings, "annotations": strings, "ownerReferences": anything,
            "finalizers": anything}
SPEC = {"holderIdentity": string, "leaseDurationSeconds": int32, "acquireTime": micro_time, "renewTime": micro_time,
        "leaseTransitions": int32, "strategy": string, "preferredHolder": string}


def decode(value):
    """(the Lease that a client means, the paths of what the API does not know and drops)."""
    if not isinstance(value, dict):
        raise bad_request("couldn't get version/kind; json parse error")
    if value.get("apiVersion", VERSION) != VERSION or value.get("kind", "Lease") != "Lease":
        raise bad_request("the API version in the data does not match the expected API version "
                          f"({value.get('apiVersion')}, {value.get('kind')}; expected {VERSION}, Lease)")
    unknown = [name for name in value if name not in ("apiVersion", "kind", "metadata", "spec")]
    lease = {"kind": "Lease", "apiVersion": VERSION}
    for part, schema in (("metadata", METADATA), ("spec", SPEC)):
        members = value.get(part)
        members = {} if members is None else members
        if not isinstance(members, dict):
            raise undecodable(f"json: cannot unmarshal into Go struct field Lease.{part}")
        unknown += [f"{part}.{name}" for name in members if name not in schema]
        lease[part] = {name: check(members[name], f"Lease.{part}.{name}") for name, check in schema.items()
                       if members.get(name) is not None}
    return lease, unknown


def validate(lease):
    """Complains about values that are of the right type and yet impossible."""
    name = lease["metadata"].get("name", "")
    causes = []
    if not name:
        causes.append(("metadata.name", "FieldValueRequired", "Required value: name or generateName is required"))
    elif len(name) > 253 or not SUBDOMAIN.fullmatch(name):
        causes.append(("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {SUBDOMAIN_RULE}'))
    spec = lease["spec"]
    for field, least, rule in (("leaseDurationSeconds", 1, "must be greater than 0"),
                               ("leaseTransitions", 0, "must be greater than or equal to 0")):
        if spec.get(field, least) < least:
            causes.append((f"spec.{field}", "FieldValueInvalid", f"Invalid value: {spec[field]}: {rule}"))
    if causes:
        raise invalid(name, causes)


def merge(target, patch):
    """A JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result
