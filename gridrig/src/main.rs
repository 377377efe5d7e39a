//! The gridrig command.

fn main() -> std::process::ExitCode {
    gridrig::main()
}
