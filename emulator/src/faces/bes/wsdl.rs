//! The description of the service.

/// The WSDL with a placeholder for the address.
const TEMPLATE: &str = include_str!("../../../../resources/wsdl/bes.wsdl");
/// What stands in it for the address.
const PLACEHOLDER: &str = "http://localhost/services/bes";

/// The WSDL of the service at this address. The address has no character that
/// XML would need escaped.
pub(super) fn document(address: &str) -> String {
    TEMPLATE.replace(PLACEHOLDER, address)
}
