//! `gridrig resources`: what clusters offer, in the forms that brokers tell
//! each other.

use super::{print, print_json};
use crate::cli::ResourcesArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use gridrig_core::inventory::{Form, Inventory, Schema, SiteCluster, of_clusters};
use gridrig_core::resource::Resources;
use gridrig_protocol::inventory::{InventoryDocument, InventorySize, read_schema};
use gridrig_protocol::resources;
use gridrig_results::text::{cells, table};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The largest schema document or inventory that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Prints the sizes of every form, or one form.
pub(super) fn resources(args: &ResourcesArgs) -> Result<(), Failure> {
    let schema = match &args.schema {
        Some(file) => schema_file(file)?,
        None => Schema::la_grid(),
    };
    let flat = read(&args.files)?;
    let Some(name) = &args.form else {
        let all = Form::ALL
            .into_iter()
            .map(|form| in_form(&flat, form, &schema));
        let sizes = all.map(|one| Ok(InventorySize::of(&one?)));
        return sizes_of(&sizes.collect::<Result<Vec<_>, Failure>>()?, args.json);
    };
    let form = Form::from_name(name).ok_or_else(|| {
        let expected = "expected flat, unique, one-to-n or n-to-n";
        Failure::input(anyhow!("--form {name}: {expected}"))
    })?;
    let document = InventoryDocument::from(&in_form(&flat, form, &schema)?);
    match args.json {
        true => print_json(&document),
        false => print(&document.to_xml()),
    }
}

fn in_form(flat: &Inventory, form: Form, schema: &Schema) -> Result<Inventory, Failure> {
    flat.in_form(form, schema).map_err(Failure::input)
}

fn sizes_of(sizes: &[InventorySize], json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&sizes);
    }
    let head = cells(["form", "records", "relations", "XML bytes", "JSON bytes"]);
    let line = |size: &InventorySize| {
        let figures = [
            size.records,
            size.relations,
            size.xml_bytes,
            size.json_bytes,
        ];
        [cells([&size.form]), cells(figures)].concat()
    };
    let lines: Vec<Vec<String>> = std::iter::once(head)
        .chain(sizes.iter().map(line))
        .collect();
    print(&table(&lines))
}

/// One inventory document, or the inventory of a domain of these clusters,
/// each named after its file.
fn read(files: &[PathBuf]) -> Result<Inventory, Failure> {
    if let [file] = files {
        let document = bytes(file)?;
        if let Some(document) = inventory_document(&document) {
            let file = file.display();
            let inventory = document.and_then(|document| document.inventory());
            return inventory.map_err(|error| Failure::input(anyhow!("{file}: {error}")));
        }
    }
    let cluster = |file: &PathBuf| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let read = resources::read(file).map_err(Failure::input)?;
        Ok((name.into_owned(), read))
    };
    let read: Result<Vec<(String, Resources)>, Failure> = files.iter().map(cluster).collect();
    let read = read?;
    let clusters: Vec<SiteCluster<'_>> = read
        .iter()
        .map(|(name, resources)| SiteCluster {
            name,
            resources,
            load: None,
        })
        .collect();
    of_clusters(&clusters).map_err(Failure::input)
}

/// The document, if it is none of a cluster.
fn inventory_document(
    text: &[u8],
) -> Option<Result<InventoryDocument, gridrig_protocol::inventory::InventoryDocumentError>> {
    let root = gridrig_protocol::xml::Element::parse(text).ok()?;
    let is_inventory = root.namespace == gridrig_protocol::inventory::NAMESPACE;
    is_inventory.then(|| InventoryDocument::from_element(&root))
}

/// Reads a schema document.
pub(super) fn schema_file(path: &Path) -> Result<Schema, Failure> {
    let file = path.display();
    read_schema(&bytes(path)?).map_err(|error| Failure::input(anyhow!("{file}: {error}")))
}

fn bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    let file = path.display();
    let failed = |error: std::io::Error| Failure::input(anyhow!("{file}: {error}"));
    let mut all = Vec::new();
    // One byte more than is allowed tells a file that is too large.
    let handle = File::open(path).map_err(failed)?;
    handle
        .take(MAX_BYTES + 1)
        .read_to_end(&mut all)
        .map_err(failed)?;
    if all.len() as u64 > MAX_BYTES {
        let expected = "expected a file of at most 16 MiB";
        return Err(Failure::input(anyhow!("{file}: it is larger: {expected}")));
    }
    Ok(all)
}
