//! `gridrig resources`: what clusters offer, in the forms that brokers tell
//! each other; and cluster files of what Slurm tells.

use super::{answer, print};
use crate::cli::{ImportResourcesArgs, ResourcesArgs, ResourcesCommand};
use crate::exit::Failure;
use anyhow::{Context as _, bail};
use gridrig_core::inventory::{Form, Inventory, Schema, SiteCluster, of_clusters};
use gridrig_core::resource::Resources;
use gridrig_protocol::inventory::{InventoryDocument, InventorySize, read_schema};
use gridrig_protocol::resources::{self, Defaults};
use gridrig_results::text::{cells, table};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The largest schema document or inventory that is read.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Prints the sizes of every form, or one form.
pub(super) fn resources(args: &ResourcesArgs) -> Result<(), Failure> {
    if let Some(ResourcesCommand::Import(args)) = &args.command {
        return import(args);
    }
    let schema = match &args.schema {
        Some(file) => schema_file(file)?,
        None => Schema::la_grid(),
    };
    let flat = read(&args.files)?;
    let Some(form) = args.form else {
        let size = |form| anyhow::Ok(InventorySize::of(&flat.in_form(form, &schema)?));
        let sizes = Form::ALL.into_iter().map(size);
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        return answer(args.json, &sizes, |sizes| text_of(sizes));
    };
    let told = flat.in_form(form, &schema).map_err(Failure::input)?;
    let document = InventoryDocument::from(&told);
    answer(args.json, &document, InventoryDocument::to_xml)
}

/// Prints a cluster file.
fn import(args: &ImportResourcesArgs) -> Result<(), Failure> {
    let (file, text) = (args.file.display().to_string(), bytes(&args.file)?);
    let defaults = Defaults {
        architecture: args.architecture.clone(),
        os: args.os.clone(),
    };
    let told = resources::from_slurm(&file, &String::from_utf8_lossy(&text), &defaults);
    let told = told.map_err(Failure::input)?;
    for (what, nodes) in &told.notes {
        eprintln!("warning: {file}: {nodes} {what}");
    }
    print(&resources::write(&told.resources).map_err(Failure::input)?)
}

fn text_of(sizes: &[InventorySize]) -> String {
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
    let lines = std::iter::once(head).chain(sizes.iter().map(line));
    table(&lines.collect::<Vec<_>>())
}

/// One inventory document, or the inventory of a domain of these clusters,
/// each named after its file.
fn read(files: &[PathBuf]) -> anyhow::Result<Inventory> {
    if let [file] = files
        && let Some(document) = inventory_document(&bytes(file)?)
    {
        let inventory = document.and_then(|document| document.inventory());
        return inventory.with_context(|| file.display().to_string());
    }
    let cluster = |file: &PathBuf| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        anyhow::Ok((name.into_owned(), resources::read(file)?))
    };
    let read: Vec<(String, Resources)> = files.iter().map(cluster).collect::<Result<_, _>>()?;
    let clusters = read.iter().map(|(name, resources)| SiteCluster {
        name,
        resources,
        load: None,
    });
    Ok(of_clusters(&clusters.collect::<Vec<_>>())?)
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
pub(super) fn schema_file(path: &Path) -> anyhow::Result<Schema> {
    read_schema(&bytes(path)?).with_context(|| path.display().to_string())
}

pub(super) fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    let file = path.display();
    let mut all = Vec::new();
    // One byte more than is allowed tells a file that is too large.
    File::open(path)
        .and_then(|handle| handle.take(MAX_BYTES + 1).read_to_end(&mut all))
        .with_context(|| file.to_string())?;
    if all.len() as u64 > MAX_BYTES {
        bail!("{file}: it is larger: expected a file of at most 16 MiB");
    }
    Ok(all)
}
