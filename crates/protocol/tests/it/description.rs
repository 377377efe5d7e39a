//! Descriptions in the languages of others.

mod examples;

use examples::{JDL, RSL, XRSL};
use gridrig_protocol::description::{Descriptions, Language, read, write};

fn one(text: &str) -> Descriptions {
    read("t", text, None).unwrap()
}

fn lost(all: &Descriptions, job: usize) -> Vec<(usize, &str, &str)> {
    let lost = all.jobs[job].lost.iter();
    lost.map(|lost| (lost.line, &*lost.attribute, &*lost.value))
        .collect()
}

#[test]
fn look() {
    for text in [XRSL, RSL, JDL] {
        let all = one(text);
        println!("{:?}", all.language);
        for job in &all.jobs {
            println!("{}", job.job.write());
            for lost in &job.lost {
                println!("  {lost:?}");
            }
        }
        for language in Language::ALL {
            match write(*language, &all) {
                Ok((text, lost)) => {
                    println!("{language}:\n{text}");
                    for lost in lost {
                        println!("  {lost:?}");
                    }
                }
                Err(error) => println!("{language}: {error}"),
            }
        }
    }
}
