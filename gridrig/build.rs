//! Links the program so that it starts quickly: at a fixed address, and on
//! Linux with the C library in it.
//!
//! The commands of Slurm are links to this program, so that each call starts it
//! anew. In a program that can be loaded anywhere, the loader first rewrites
//! some 40,000 addresses, most of them of parts that such a call never uses:
//! without that, a call of `squeue` costs 0.8 ms beyond what the shell needs to
//! start anything at all, with it 1.4 ms. Of what is left, the libraries that
//! the loader maps and searches are a third of the processor time.
//!
//! `-C target-feature=+crt-static` would be the plain way, but it cannot be
//! asked for one program alone, and procedural macros cannot be built so. Where
//! there is no static C library, or `GRIDRIG_LINK=dynamic` is set, the program
//! is linked to the shared ones. `GRIDRIG_LINK=pie` links it as rustc does, to be
//! loaded at a random address, which makes a defect of memory in a library harder to
//! use, and each call cost what is said above.

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
    if var("CARGO_CFG_TARGET_OS") != "linux" || var("GRIDRIG_LINK") == "pie" {
        return;
    }
    println!("cargo:rustc-link-arg-bins=-no-pie");
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
        println!("cargo:rustc-link-arg-bins=-static");
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
