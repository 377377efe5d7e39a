//! Documents of every shape that the reader knows.

use gridrig_core::generic::Generics;
use gridrig_core::time::SimDuration;
use gridrig_protocol::jsdl::{
    Application, Bound, CreationFlag, DataStaging, Exact, FileName, Identification, JobDefinition,
    Limit, OperatingSystem, Processes, Program, ProgramKind, Quantity, Range, RangeValue,
    Resources, Spmd, Variable,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use strum::VariantArray as _;

/// A struct of at most twelve fields, each drawn by its own strategy.
macro_rules! drawn {
    ($kind:ident { $($field:ident: $strategy:expr,)+ $(.. $rest:expr)? }) => {
        ($($strategy,)+).prop_map(|($($field,)+)| $kind { $($field,)+ $(.. $rest)? })
    };
}

pub(crate) use drawn;

fn text() -> impl Strategy<Value = String> {
    "[ -~\n\tä€\u{1f600}]{1,12}"
}

/// A text that an element of the type token or normalizedString keeps.
fn line() -> impl Strategy<Value = String> {
    "[!-~]([ -~]{0,8}[!-~])?"
}

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z_][A-Za-z0-9_.-]{0,8}"
}

fn file() -> impl Strategy<Value = FileName> {
    (line(), of(name())).prop_map(|(value, filesystem)| FileName { value, filesystem })
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u32>().prop_map(f64::from),
        -1e12..1e12,
        Just(0.1),
        Just(1e-300),
        Just(9.007_199_254_740_993e15),
    ]
}

fn bound() -> impl Strategy<Value = Bound> {
    (number(), any::<bool>()).prop_map(|(value, exclusive)| Bound { value, exclusive })
}

fn range_value() -> impl Strategy<Value = RangeValue> {
    let exact = (number(), of(number())).prop_map(|(value, epsilon)| Exact { value, epsilon });
    let range = (bound(), bound()).prop_map(|(lower, upper)| Range { lower, upper });
    drawn!(RangeValue {
        upper: of(bound()),
        lower: of(bound()),
        exact: vec(exact, 0..3),
        ranges: vec(range, 0..3),
    })
    .prop_filter("one that says something", |value| {
        *value != RangeValue::default()
    })
}

fn one_of(names: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    of(select(names.to_vec()).prop_map(str::to_owned))
}

fn resources() -> impl Strategy<Value = Resources> {
    let system = drawn!(OperatingSystem {
        name: one_of(&["LINUX", "z_OS", "Plan 9"]),
        version: of(text()),
        description: of(text()),
    });
    let generic = select(vec!["gpu:a100:2", "gpu:1,nic:3"]);
    let generic = generic.prop_map(|text| text.parse::<Generics>().unwrap());
    drawn!(Resources {
        candidate_hosts: vec(name(), 0..3),
        exclusive: of(any::<bool>()),
        operating_system: of(system),
        architecture: one_of(&["x86_64", "arm", "riscv64"]),
        quantities: btree_map(select(Quantity::VARIANTS.to_vec()), range_value(), 0..5),
        generic: of(generic),
        queue: of(name()),
    })
}

fn processes() -> impl Strategy<Value = Processes> {
    prop_oneof![
        (1..u32::MAX).prop_map(Processes::Number),
        Just(Processes::Actual)
    ]
}

fn spmd() -> impl Strategy<Value = Spmd> {
    drawn!(Spmd {
        processes: of(processes()),
        per_host: of(1..u32::MAX),
        threads: of(processes()),
        variation: "urn:[a-z]{1,8}",
    })
}

fn program() -> impl Strategy<Value = Program> {
    let kinds = [
        ProgramKind::Posix,
        ProgramKind::HpcProfile,
        ProgramKind::Spmd,
    ];
    let variable = (name(), file()).prop_map(|(name, value)| Variable { name, value });
    let program = drawn!(Program {
        kind: select(kinds.to_vec()),
        name: of(name()),
        executable: of(file()),
        arguments: vec(file(), 0..3),
        input: of(file()),
        output: of(file()),
        error: of(file()),
        working_directory: of(file()),
        environment: vec(variable, 0..3),
        user: of(text()),
        ..Program::default()
    });
    let limits = btree_map(select(Limit::VARIANTS.to_vec()), any::<u64>(), 0..4);
    (program, limits, of(text()), spmd()).prop_map(|(mut program, limits, group, spmd)| {
        match program.kind {
            ProgramKind::Posix => (program.limits, program.group) = (limits, group),
            ProgramKind::HpcProfile => without_filesystems(&mut program),
            ProgramKind::Spmd => program.spmd = Some(spmd),
        }
        program
    })
}

/// The HPC Profile knows no file systems.
fn without_filesystems(program: &mut Program) {
    let files = program.arguments.iter_mut().chain(
        program
            .environment
            .iter_mut()
            .map(|variable| &mut variable.value),
    );
    let single = [
        &mut program.executable,
        &mut program.input,
        &mut program.output,
        &mut program.error,
        &mut program.working_directory,
    ];
    for file in files.chain(single.into_iter().flatten()) {
        file.filesystem = None;
    }
}

fn staging() -> impl Strategy<Value = DataStaging> {
    let uri = || of(of("[a-z]{2,5}://[a-z0-9/.]{1,12}"));
    drawn!(DataStaging {
        name: of(name()),
        file: text(),
        filesystem: of(name()),
        creation: select(CreationFlag::VARIANTS.to_vec()),
        delete: of(any::<bool>()),
        source: uri(),
        target: uri(),
        size: of(any::<u64>()),
    })
}

fn duration() -> impl Strategy<Value = SimDuration> {
    any::<u64>().prop_map(SimDuration::from_nanos)
}

pub fn definition() -> impl Strategy<Value = JobDefinition> {
    let named = drawn!(Identification {
        name: of(text()),
        description: of(text()),
        annotations: vec(text(), 0..3),
        projects: vec(text(), 0..3),
    });
    let application = drawn!(Application {
        name: of(text()),
        version: of(text()),
        description: of(text()),
        program: of(program()),
    });
    drawn!(JobDefinition {
        id: of(name()),
        identification: named,
        application: of(application),
        // Its values are large on the stack of a test.
        resources: resources().boxed(),
        staging: vec(staging(), 0..3),
        run_time: of(duration()),
        requested_time: of(duration()),
    })
}
