//! Links the program with the C library in it, on Linux, so that it starts quickly, and
//! so that it can be loaded anywhere.
//!
//! The commands of Slurm are links to this program, so that each call starts it
//! anew, and a third of the processor time of a call is what the loader takes to map
//! and search libraries. At a random address (a defect of memory in a library is harder
//! to use there) addresses have to be rewritten at each start, which costs a call 0.7 ms
//! (docs/decisions.md); where they are is packed, which makes the file smaller.
//!
//! `-C target-feature=+crt-static` would be the plain way, but it cannot be
//! asked for one program alone, and procedural macros cannot be built so. Where
//! there is no static C library, or `GRIDRIG_LINK=dynamic` is set, the program
//! is linked to the shared ones, and can be loaded anywhere too.

use std::path::Path;
use std::process::Command;

/// The libraries that rustc names for `linux-gnu`, and what takes their place.
const LIBRARIES: [(&str, &str); 7] = [
    ("c", "libc.a -l:libgcc_eh.a -l:libgcc.a"),
    ("dl", "libdl.a"),
    ("gcc_s", "libgcc_eh.a"),
    ("m", "libm.a"),
    ("pthread", "libpthread.a"),
    ("rt", "librt.a"),
    ("util", "libutil.a"),
];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GRIDRIG_LINK");
    let var = |name| std::env::var(name).unwrap_or_default();
    if var("CARGO_CFG_TARGET_OS") != "linux" {
        return;
    }
    // For another machine the libraries of this one are of no use, and where
    // another linker is the default nobody has tried.
    let plain = var("CARGO_CFG_TARGET_ENV") == "gnu"
        && var("CARGO_CFG_TARGET_ARCH") == "x86_64"
        && var("HOST") == var("TARGET")
        && var("RUSTC_LINKER").is_empty();
    if !plain || var("GRIDRIG_LINK") == "dynamic" {
        return;
    }
    let Ok(found) = static_libraries(Path::new(&var("OUT_DIR"))) else {
        return;
    };
    if found {
        println!("cargo:rustc-link-arg-bins=-static-pie");
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        println!("cargo:rustc-link-arg-bins=-L{}", var("OUT_DIR"));
    }
}

/// Writes a linker script for each library, which leads to the archive; `false`
/// if there is none.
fn static_libraries(dir: &Path) -> std::io::Result<bool> {
    for (name, archives) in LIBRARIES {
        let first = archives.split(' ').next().unwrap_or_default();
        let asked = Command::new("cc")
            .arg(format!("-print-file-name={first}"))
            .output()?;
        // The linker's driver repeats the bare name of what it does not know.
        let path = String::from_utf8_lossy(&asked.stdout);
        if !Path::new(path.trim()).is_absolute() {
            return Ok(false);
        }
        let script = format!("GROUP ( -l:{archives} )\n");
        std::fs::write(dir.join(format!("lib{name}.so")), script)?;
    }
    Ok(true)
}
