//! The gridrig command.

/// Keeps freed memory for the next run of a comparison. The system's
/// allocator gives it back at once, and faulting it in again takes a quarter
/// of the time of a simulation.
#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    // Links to this program may be commands of an emulated cluster: they are
    // told apart before anything else begins, since clients call thousands.
    if let Some(code) = gridrig_emulator::faces::slurm::client::dispatch(std::env::args_os()) {
        return code;
    }
    gridrig::main()
}
