"""A client made by zeep from the WSDL alone: creates an activity, follows it,
reads its document, terminates another, and meets the faults."""

import sys
import time

import lxml.etree as etree
import zeep
from zeep.exceptions import Fault

JSDL = "http://schemas.ggf.org/jsdl/2005/11/jsdl"
POSIX = "http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"
BES = "http://schemas.ggf.org/bes/2006/08/bes-factory"


def definition(processors, seconds):
    return etree.fromstring(f"""
        <JobDefinition xmlns="{JSDL}" xmlns:p="{POSIX}"><JobDescription>
          <Application><p:POSIXApplication>
            <p:Executable>/bin/sleep</p:Executable><p:Argument>{seconds}</p:Argument>
          </p:POSIXApplication></Application>
          <Resources><TotalCPUCount><Exact>{processors}</Exact></TotalCPUCount></Resources>
        </JobDescription></JobDefinition>""")


def main(url):
    client = zeep.Client(url + "?wsdl")
    factory = client.bind("BasicExecutionService", "BESFactoryPort")
    management = client.bind("BasicExecutionService", "BESManagementPort")

    def create(processors, seconds):
        document = {"_value_1": [definition(processors, seconds)]}
        return factory.CreateActivity(ActivityDocument=document).ActivityIdentifier

    def states(*activities):
        answer = factory.GetActivityStatuses(ActivityIdentifier=list(activities))
        return [response.ActivityStatus.state for response in answer.Response]

    attributes = factory.GetFactoryAttributesDocument()
    attributes = attributes.FactoryResourceAttributesDocument
    assert attributes.IsAcceptingNewActivities is True, attributes
    assert attributes.BasicResourceAttributesDocument.CPUCount == 4.0, attributes

    short, long = create(1, 30), create(2, 86400)
    for _ in range(600):
        if states(short, long) == ["Finished", "Running"]:
            break
        time.sleep(0.05)
    else:
        raise AssertionError(states(short, long))

    documents = factory.GetActivityDocuments(ActivityIdentifier=[short])
    assert documents.Response[0].JobDefinition is not None, documents

    terminated = factory.TerminateActivities(ActivityIdentifier=[long, short])
    assert [r.Terminated for r in terminated.Response] == [True, False], terminated
    assert states(long) == ["Cancelled"]

    try:
        create(99, 1)
        raise AssertionError("a job that never fits was taken")
    except Fault as fault:
        assert fault.detail.find(f"{{{BES}}}UnsupportedFeatureFault") is not None

    management.StopAcceptingNewActivities()
    try:
        create(1, 1)
        raise AssertionError("a stopped factory took a job")
    except Fault as fault:
        assert fault.detail.find(f"{{{BES}}}NotAcceptingNewActivitiesFault") is not None
    management.StartAcceptingNewActivities()
    create(1, 1)
    print("zeep", zeep.__version__, "ok")


main(sys.argv[1])
