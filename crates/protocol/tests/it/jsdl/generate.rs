//! Documents of every shape that the reader knows.

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
    let value = (of(bound()), of(bound()), vec(exact, 0..3), vec(range, 0..3));
    value
        .prop_map(|(upper, lower, exact, ranges)| RangeValue {
            upper,
            lower,
            exact,
            ranges,
        })
        .prop_filter("one that says something", |value| {
            *value != RangeValue::default()
        })
}

fn resources() -> impl Strategy<Value = Resources> {
    let system = (
        of(select(vec!["LINUX", "z_OS", "Plan 9"])),
        of(text()),
        of(text()),
    );
    let system = system.prop_map(|(name, version, description)| OperatingSystem {
        name: name.map(str::to_owned),
        version,
        description,
    });
    let architecture = of(select(vec!["x86_64", "arm", "riscv64"]));
    let quantities = btree_map(select(Quantity::VARIANTS.to_vec()), range_value(), 0..5);
    (
        vec(name(), 0..3),
        of(any::<bool>()),
        of(system),
        architecture,
        quantities,
        of(select(vec!["gpu:a100:2", "gpu:1,nic:3"])),
        of(name()),
    )
        .prop_map(
            |(hosts, exclusive, system, architecture, quantities, generic, queue)| Resources {
                candidate_hosts: hosts,
                exclusive,
                operating_system: system,
                architecture: architecture.map(str::to_owned),
                quantities,
                generic: generic.map(|text| text.parse().unwrap()),
                queue,
            },
        )
}

fn processes() -> impl Strategy<Value = Processes> {
    prop_oneof![
        (1..u32::MAX).prop_map(Processes::Number),
        Just(Processes::Actual)
    ]
}

fn spmd() -> impl Strategy<Value = Spmd> {
    (
        of(processes()),
        of(1..u32::MAX),
        of(processes()),
        "urn:[a-z]{1,8}",
    )
        .prop_map(|(processes, per_host, threads, variation)| Spmd {
            processes,
            per_host,
            threads,
            variation,
        })
}

fn program() -> impl Strategy<Value = Program> {
    let kinds = [
        ProgramKind::Posix,
        ProgramKind::HpcProfile,
        ProgramKind::Spmd,
    ];
    let variable = (name(), file()).prop_map(|(name, value)| Variable { name, value });
    let files = (
        of(file()),
        vec(file(), 0..3),
        of(file()),
        of(file()),
        of(file()),
        of(file()),
    );
    let limits = btree_map(select(Limit::VARIANTS.to_vec()), any::<u64>(), 0..4);
    let rest = (
        vec(variable, 0..3),
        limits,
        of(text()),
        of(text()),
        spmd(),
        of(name()),
    );
    (select(kinds.to_vec()), files, rest).prop_map(|(kind, files, rest)| {
        let mut program = Program {
            kind,
            name: rest.5,
            executable: files.0,
            arguments: files.1,
            input: files.2,
            output: files.3,
            error: files.4,
            working_directory: files.5,
            environment: rest.0,
            limits: rest.1,
            user: rest.2,
            group: rest.3,
            spmd: Some(rest.4),
        };
        if kind != ProgramKind::Posix {
            program.limits.clear();
            program.group = None;
        }
        if kind != ProgramKind::Spmd {
            program.spmd = None;
        }
        if kind == ProgramKind::HpcProfile {
            without_filesystems(&mut program);
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
    let flags = (select(CreationFlag::VARIANTS.to_vec()), of(any::<bool>()));
    (
        of(name()),
        text(),
        of(name()),
        flags,
        uri(),
        uri(),
        of(any::<u64>()),
    )
        .prop_map(
            |(name, file, filesystem, (creation, delete), source, target, size)| DataStaging {
                name,
                file,
                filesystem,
                creation,
                delete,
                source,
                target,
                size,
            },
        )
}

fn duration() -> impl Strategy<Value = SimDuration> {
    any::<u64>().prop_map(SimDuration::from_nanos)
}

pub fn definition() -> impl Strategy<Value = JobDefinition> {
    let identification = (of(text()), of(text()), vec(text(), 0..3), vec(text(), 0..3));
    let identification =
        identification.prop_map(
            |(name, description, annotations, projects)| Identification {
                name,
                description,
                annotations,
                projects,
            },
        );
    let application = (of(text()), of(text()), of(text()), of(program())).prop_map(
        |(name, version, description, program)| Application {
            name,
            version,
            description,
            program,
        },
    );
    let times = (of(duration()), of(duration()));
    (
        of(name()),
        identification,
        of(application),
        // Its values are large on the stack of a test.
        resources().boxed(),
        vec(staging(), 0..3),
        times,
    )
        .prop_map(
            |(id, identification, application, resources, staging, times)| JobDefinition {
                id,
                identification,
                application,
                resources,
                staging,
                run_time: times.0,
                requested_time: times.1,
            },
        )
}
