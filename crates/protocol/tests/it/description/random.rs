//! Random jobs through all languages.

use gridrig_protocol::description::{Descriptions, Language, text, write};
use gridrig_protocol::jsdl::{
    Application, DataStaging, FileName, JobDefinition, Limit, Program, Quantity, RangeValue,
    Variable,
};
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;

/// A text with everything that some language quotes by.
fn anything() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 '\"\\\\$()#^&|+<>={};,/*\u{e4}%_-]{1,12}"
        .prop_filter("blanks at the ends", |text| text.trim() == text)
}

fn url() -> impl Strategy<Value = String> {
    "https://h/[a-z]{1,5}/".prop_map(|url| url)
}

/// What xRSL, RSL, JDL and ADL all have words for.
fn job() -> impl Strategy<Value = JobDefinition> {
    let file = || of(anything().prop_map(FileName::of));
    let program = (
        anything().prop_map(|path| Some(FileName::of(path))),
        vec(anything().prop_map(FileName::of), 0..4),
        [file(), file(), file()],
        btree_map("[A-Z]{1,4}", anything(), 0..3),
        of(1_u64..100_000),
    );
    let inputs = vec(("[a-z.]{1,8}", url()), 0..3);
    (
        program,
        1_u32..10_000,
        of(1_u32..1_000_000),
        of(anything()),
        inputs,
    )
        .prop_map(
            |(
                (executable, arguments, [input, output, error], environment, minutes),
                count,
                memory,
                queue,
                inputs,
            )| {
                let mut job = JobDefinition::default();
                let variables = environment.into_iter().map(|(name, value)| Variable {
                    name,
                    value: FileName::of(value),
                });
                let program = Program {
                    executable,
                    arguments,
                    input,
                    output,
                    error,
                    environment: variables.collect(),
                    limits: minutes
                        .map(|minutes| (Limit::WallTime, minutes * 60))
                        .into_iter()
                        .collect(),
                    ..Program::default()
                };
                job.application = Some(Application {
                    program: Some(program),
                    ..Application::default()
                });
                let quantities = &mut job.resources.quantities;
                quantities.insert(
                    Quantity::TotalCpuCount,
                    RangeValue::exactly(f64::from(count)),
                );
                if let Some(memory) = memory {
                    let bytes = RangeValue::at_least(f64::from(memory) * 1_048_576.0);
                    quantities.insert(Quantity::IndividualPhysicalMemory, bytes);
                }
                job.resources.queue = queue;
                let files = inputs.into_iter().map(|(file, url)| DataStaging {
                    source: Some(Some(url + &file)),
                    file,
                    ..DataStaging::default()
                });
                job.staging = files.collect();
                job
            },
        )
}

proptest! {
    #[test]
    fn each_language_says_what_all_have_words_for(job in job()) {
        let mut all = Descriptions::from(job.clone());
        for language in [Language::Xrsl, Language::Rsl, Language::Jdl, Language::Adl, Language::Jsdl] {
            let (text, lost) = write(language, &all).unwrap();
            prop_assert_eq!(&lost, &[], "{}: {}", language, text);
            all = gridrig_protocol::description::read("t", &text, None).unwrap();
            let is_known = all.language == language || (all.language, language) == (Language::Xrsl, Language::Rsl);
            prop_assert!(is_known, "{} taken for {}: {}", language, all.language, text);
            prop_assert_eq!(&all.jobs[0].job.staging, &job.staging);
            prop_assert!(all.jobs[0].lost.is_empty());
        }
        prop_assert_eq!(&all.jobs[0].job.resources, &job.resources);
        prop_assert_eq!(&all.jobs[0].job.application, &job.application);
    }

    /// Whatever a language keeps of a document, it keeps for good.
    #[test]
    fn what_is_lost_is_lost_once(job in crate::jsdl::generate::definition()) {
        for language in [Language::Xrsl, Language::Rsl, Language::Jdl, Language::Adl] {
            // A document may contradict itself, or have values that no other takes.
            let Ok((first, _)) = write(language, &job.clone().into()) else {
                continue;
            };
            let read = gridrig_protocol::description::read("t", &first, Some(language)).unwrap();
            let (second, mut lost) = write(language, &read).unwrap();
            // Numbers are exact up to 2^53.
            lost.retain(|lost| !lost.value.parse().is_ok_and(|value: u64| value > 1 << 53));
            prop_assert_eq!(&lost, &[], "{}", first);
            prop_assert_eq!(text(language, &read).unwrap(), second);
        }
    }
}
