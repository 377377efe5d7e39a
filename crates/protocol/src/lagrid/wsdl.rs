//! The description of the protocol in WSDL 1.1, with its types inline.

/// The WSDL with a placeholder for the address.
const TEMPLATE: &str = include_str!("../../../../resources/wsdl/la-grid.wsdl");
/// What stands in it for the address.
const PLACEHOLDER: &str = "http://localhost/lagrid";

/// The WSDL of the broker that takes SOAP at this address, which has no
/// character that XML would need escaped.
pub fn document(address: &str) -> String {
    TEMPLATE.replace(PLACEHOLDER, address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lagrid::Operation;

    #[test]
    fn every_port_has_the_address() {
        assert_eq!(TEMPLATE.matches(PLACEHOLDER).count(), 2);
        assert_eq!(
            document("https://h:1/x")
                .matches("\"https://h:1/x\"")
                .count(),
            2
        );
    }

    #[test]
    fn the_description_has_every_operation_with_its_action_and_no_other() {
        for operation in Operation::ALL {
            let action = format!("soapAction=\"{}\"", operation.action());
            assert_eq!(TEMPLATE.matches(&action).count(), 2, "{action}");
            let element = format!("<xsd:element name=\"{}\" ", operation.response());
            assert_eq!(TEMPLATE.matches(&element).count(), 1, "{element}");
        }
        assert_eq!(TEMPLATE.matches("soapAction=").count(), 20);
    }

    #[test]
    fn inventories_have_the_types_of_their_own_schema() {
        let schema = include_str!("../../../../resources/xsd/inventory.xsd");
        let from = schema.find("<!-- A name or value").unwrap();
        let until = schema
            .find("<xsd:element name=\"ResourceSchema\">")
            .unwrap();
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(TEMPLATE).contains(&words(&schema[from..until])));
    }

    #[test]
    fn no_part_of_the_description_is_elsewhere() {
        for reference in ["schemaLocation", "wsdl:import", "xsd:include"] {
            assert!(!TEMPLATE.contains(reference), "{reference}");
        }
    }
}
