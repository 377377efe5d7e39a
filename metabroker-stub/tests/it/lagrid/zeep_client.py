"""A client made by zeep from the WSDL alone: it opens a connection in two
rounds, submits a job, queries and cancels it, and ends the connection. Every
message it sends or receives is held against the schema in the WSDL.

    zeep_client.py URL PORT [all]

It is domain b. With "all" it uses every operation of the protocol, as against a
desk that has rules of its own.
"""

import sys
import time
import urllib.request

import lxml.etree as etree
import zeep
from zeep.exceptions import Fault

JSDL = "http://schemas.ggf.org/jsdl/2005/11/jsdl"
LAGRID = "urn:gridrig:lagrid:1"
XSD = "{http://www.w3.org/2001/XMLSchema}"
ENVELOPES = (
    "http://schemas.xmlsoap.org/soap/envelope/",
    "http://www.w3.org/2003/05/soap-envelope",
)


class Schema:
    """The schemas of a WSDL, taken out of it into files of their own."""

    def __init__(self, wsdl):
        root = etree.fromstring(urllib.request.urlopen(wsdl, timeout=30).read())
        files = {}
        for schema in root.iter(XSD + "schema"):
            target = schema.get("targetNamespace")
            for wanted in schema.findall(XSD + "import"):
                wanted.set("schemaLocation", "memory:" + wanted.get("namespace"))
            files["memory:" + target] = etree.tostring(schema, with_tail=False)

        class Memory(etree.Resolver):
            def resolve(self, url, public_id, context):
                return self.resolve_string(files[url], context, base_url=url)

        parser = etree.XMLParser(no_network=True)
        parser.resolvers.add(Memory())
        imports = "".join(
            f'<import namespace="{url[7:]}" schemaLocation="{url}"/>' for url in files
        )
        driver = f'<schema xmlns="{XSD[1:-1]}">{imports}</schema>'
        self.schema = etree.XMLSchema(etree.fromstring(driver, parser))
        self.checked = 0

    def check(self, envelope):
        body = next(envelope.find(f"{{{e}}}Body") for e in ENVELOPES if e in envelope.tag)
        message = body[0]
        if message.tag.endswith("}Fault"):
            message = message.find(".//{urn:gridrig:soap:1}problem")
        # A tree of its own, so that the check sees nothing around it.
        message = etree.fromstring(etree.tostring(message))
        self.schema.assertValid(message)
        self.checked += 1


class Oracle(zeep.Plugin):
    def __init__(self, schema):
        self.schema = schema

    def egress(self, envelope, http_headers, operation, binding_options):
        self.schema.check(envelope)
        return envelope, http_headers

    def ingress(self, envelope, http_headers, operation):
        self.schema.check(envelope)
        return envelope, http_headers


def definition(name, processors, run_time):
    name = name.replace("&", "&amp;").replace("<", "&lt;")
    return etree.fromstring(f"""
        <JobDefinition xmlns="{JSDL}"><JobDescription>
          <JobIdentification><JobName>{name}</JobName></JobIdentification>
          <Resources><TotalCPUCount><Exact>{processors}</Exact></TotalCPUCount></Resources>
          <RunTime xmlns="urn:gridrig:jsdl:1">{run_time}</RunTime>
        </JobDescription></JobDefinition>""")


def refused(code, call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except Fault as fault:
        found = fault.detail.findtext(".//{urn:gridrig:soap:1}code")
        assert found == code, (found, code, fault.message)
        return
    raise AssertionError(f"expected a fault with code {code}")


def main(url, port, everything):
    schema = Schema(url + "?wsdl")
    client = zeep.Client(url + "?wsdl", plugins=[Oracle(schema)])
    broker = client.bind("MetaScheduler", port)
    reference = client.get_type("{http://www.w3.org/2005/08/addressing}EndpointReferenceType")
    here = reference(Address="http://127.0.0.1:9/lagrid")

    proposal = {
        "authentication": ["none"],
        "initiatorRole": ["consumer"],
        "responderRole": ["provider"],
        "heartbeatMs": 600000,
        "jobLanguage": ["jsdl-1.0"],
        "resourceLanguage": ["gridrig-clusters-1"],
        "resourceForm": ["flat"],
    }
    if everything:
        proposal["heartbeatMs"] = 10
    connection, answer = None, None
    for number in (1, 2, 3):
        answer = broker.openConn(
            initiator="b", endpoint=here, incarnation=1, connection=connection,
            round=number, maxRounds=3, proposal=proposal,
        )
        connection = answer.connection
        if answer.accepted is not None:
            break
        assert answer.counter is not None, answer
        proposal = answer.counter
    assert answer.accepted is not None, answer
    assert "provider" in answer.accepted.responderRole, answer

    name = "zeep <1> & co"
    job = {"_value_1": definition(name, 1, "6h")}
    number = 41 if port.endswith("11") else 42
    handle = etree.Element(f"{{{LAGRID}}}job")
    handle.text = str(number)
    forwarder = reference(
        Address="http://127.0.0.1:9/lagrid", ReferenceParameters={"_value_1": [handle]}
    )
    sent = dict(
        connection=connection, key=f"zeep/{port}", job=job, hop=1, forwarder=forwarder,
        origin={"domain": "b", "job": number},
    )
    first = broker.submitJob(**sent)
    assert first.state == "queued", first
    again = broker.submitJob(**sent)
    assert again.job == first.job and again.repeated is True, again

    where = broker.queryJob(connection=connection, job=first.job)
    assert where.state in ("queued", "sent", "running"), where
    refused("unknown-job", broker.queryJob, connection=connection, job=4000000000)
    refused("unknown-connection", broker.queryJob, connection="nobody's", job=first.job)
    unsupported = definition(name, 1, "1h")
    resources = unsupported.find(f".//{{{JSDL}}}Resources")
    resources.insert(0, etree.Element(f"{{{JSDL}}}FileSystem", name="HOME"))
    unsupported = {"_value_1": unsupported}
    refused("unsupported-jsdl", broker.submitJob, **{**sent, "key": "other", "job": unsupported})

    resources = broker.requestResourceData(connection=connection, form="flat")
    assert resources.kind == "full" and resources.cluster, resources
    if not everything:
        for form in ("flat", "unique", "one-to-n", "n-to-n"):
            told = broker.requestResourceData(connection=connection, form=form)
            assert (told.form, told.inventory.Inventory.form) == (form, form), told
            assert told.inventory.Inventory.Record, told
            assert told.cluster[0].nodes[0].count >= 1, told
            assert told.sequence > resources.sequence, told
    beat = broker.heartbeat(connection=connection, sequence=1, incarnation=1)
    assert beat.sequence == 1, beat

    if everything:
        pushed = broker.sendResourceData(connection=connection, update=resources)
        assert (pushed.verdict, pushed.have) == ("accepted", 1), pushed
        pushed = broker.sendResourceData(connection=connection, update=resources)
        assert pushed.verdict == "stale", pushed
        report = {"job": 5, "state": "completed", "cluster": 0, "startNs": 1, "finishNs": 2}
        broker.notifyJob(connection=connection, news="state", report=report)

    gone = broker.cancelJob(connection=connection, job=first.job)
    for _ in range(600):
        if gone.state == "cancelled":
            break
        time.sleep(0.1)
        gone = broker.queryJob(connection=connection, job=first.job)
    assert gone.state == "cancelled", gone

    broker.notifyConn(connection=connection, event="end", code="done", reason="that is all")
    refused("unknown-connection", broker.heartbeat, connection=connection, sequence=2, incarnation=1)
    assert schema.checked >= 20, schema.checked
    print("zeep", zeep.__version__, "ok,", schema.checked, "messages checked")


main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["all"])
