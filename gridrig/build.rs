//! Links the program at a fixed address.
//!
//! The commands of Slurm are links to this program, so that each call starts it
//! anew. In a program that can be loaded anywhere, the loader first rewrites
//! some 40,000 addresses, most of them of parts that such a call never uses:
//! without that, a call of `squeue` costs 0.8 ms beyond what the shell needs to
//! start anything at all, with it 1.4 ms.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
