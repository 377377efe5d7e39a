"""A client made by zeep from the WSDL alone: reads the template, makes an
agreement, is told from when on another may be, confirms, modifies, and ends it."""

import datetime
import sys

import isodate
import lxml.etree as etree
import zeep
from zeep.exceptions import Fault

WSAG = "http://schemas.ggf.org/graap/2007/03/ws-agreement"
OWN = "urn:gridrig:ws-agreement:1"


def main(url, then):
    client = zeep.Client(url + "?wsdl")
    factory = client.bind("WSAgreement", "AgreementFactory")
    hour = datetime.timedelta(hours=1)
    then = isodate.parse_datetime(then)

    template = factory.GetResourceProperty(etree.QName(WSAG, "Template"))
    assert template.Terms.All.ServiceDescriptionTerm.Reservation.Processors == 1, template
    assert len(template.CreationConstraints.Item) == 2, template

    def terms(processors, more={}):
        reservation = {"Processors": processors, "Duration": hour, "Flexible": False}
        return {**reservation, "EarliestStart": then, "LatestStart": then, **more}

    def create(name, terms):
        term = {"Reservation": terms, "Name": "t", "ServiceName": "s"}
        offer = {
            "Name": name,
            "Context": {"AgreementInitiator": "ada"},
            "Terms": {"All": {"ServiceDescriptionTerm": term}},
        }
        return factory.CreateAgreement(AgreementOffer=offer)

    def refused(call, reason):
        try:
            call()
        except Fault as fault:
            detail = fault.detail.find(f"{{{OWN}}}RefusedFault")
            assert detail.findtext(f"{{{OWN}}}Reason") == reason, etree.tostring(detail)
            return detail.findtext(f"{{{OWN}}}NextStart")
        raise AssertionError(f"expected {reason}")

    made = create("zeep", terms(3, {"ConfirmWithin": 5 * hour}))
    assert (made.Status.State, made.Status.Start) == ("temporary", then), made
    next_start = refused(lambda: create("wide", terms(2)), "not-before")
    assert isodate.parse_datetime(next_start) == then + hour, next_start
    assert refused(lambda: create("never", terms(9)), "never-fits") is None

    address = made.CreatedAgreementEPR.Address
    agreement = client.create_service(f"{{{WSAG}}}AgreementBinding", address)

    def initiator(name):
        block = etree.Element(f"{{{OWN}}}Initiator")
        block.text = name
        return [block]

    ada, eve = initiator("ada"), initiator("eve")
    refused(lambda: agreement.Terminate(_soapheaders=eve), "not-yours")
    assert agreement.Confirm(_soapheaders=ada).State == "confirmed"
    modified = agreement.Modify(Reservation=terms(4), _soapheaders=ada)
    assert modified.End == then + hour, modified
    status = agreement.GetResourceProperty(etree.QName(OWN, "Status"))
    assert status.State == "confirmed", status
    agreement.Terminate(_soapheaders=ada)
    refused(lambda: agreement.Confirm(_soapheaders=ada), "unknown-reservation")
    print("zeep", zeep.__version__, "ok")


main(sys.argv[1], sys.argv[2])
