//! Published parameters.

use super::{ArrivalLaw, JobClass, Lublin, RunTimeLaw, SizeLaw};
use crate::synth::extent::{Extent, SCHEMA};
use std::collections::BTreeMap;

/// A set of published parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// All jobs fitted together, without types: the paper's default.
    All,
    /// Batch jobs only.
    Batch,
    /// Interactive jobs only.
    Interactive,
    /// Batch and interactive jobs, each with their own parameters.
    Both,
    /// As `All`, with 95 % serial jobs and the rest shared equally between
    /// powers of two and other sizes: grids as DMM 5.2.2 has them.
    Dmm,
}

/// Log2 of the machine that the published sizes are for: 128 processors.
const PUBLISHED_HIGH: f64 = 7.0;

/// Queue 0 is interactive by convention, and so in the reference program.
const BATCH_QUEUE: u32 = 1;
const INTERACTIVE_QUEUE: u32 = 0;

/// A class by its parameters in the order of its laws: size, run time, arrival.
const fn class(queue: u32, size: [f64; 6], run_time: [f64; 6], arrival: [f64; 5]) -> JobClass {
    let [serial, power2, low, med, high, prob] = size;
    let [a1, b1, a2, b2, pa, pb] = run_time;
    let [aarr, barr, arar, anum, bnum] = arrival;
    JobClass {
        queue,
        size: SizeLaw {
            serial,
            power2,
            low,
            med,
            high,
            prob,
        },
        run_time: RunTimeLaw {
            a1,
            b1,
            a2,
            b2,
            pa,
            pb,
        },
        arrival: ArrivalLaw {
            aarr,
            barr,
            arar,
            anum,
            bnum,
        },
    }
}

const ALL: JobClass = class(
    BATCH_QUEUE,
    [0.244, 0.576, 0.8, 4.5, 7.0, 0.86],
    [4.2, 0.94, 312.0, 0.03, -0.0054, 0.78],
    [10.2303, 0.4871, 1.0225, 8.1737, 3.9631],
);

const BATCH: JobClass = class(
    BATCH_QUEUE,
    [0.2927, 0.6686, 1.2, 5.0, 7.0, 0.875],
    [6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986],
    [6.0415, 0.8531, 1.0519, 6.1271, 5.2740],
);

const INTERACTIVE: JobClass = class(
    INTERACTIVE_QUEUE,
    [0.1541, 0.625, 1.0, 3.0, 5.5, 0.705],
    [3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156],
    [6.5510, 0.6621, 0.9797, 8.9186, 3.6680],
);

impl Preset {
    /// The model of these parameters on a machine. On another than one of 128
    /// processors, sizes are moved by the difference of the logarithms, as the
    /// authors advise: the second stage stays as far below the largest size.
    pub fn model(self, processors: u32, extent: Extent, seed: u64) -> Lublin {
        let classes: &[(&str, JobClass)] = match self {
            Preset::All => &[("all", ALL)],
            Preset::Batch => &[("batch", BATCH)],
            Preset::Interactive => &[("interactive", INTERACTIVE)],
            Preset::Both => &[("batch", BATCH), ("interactive", INTERACTIVE)],
            Preset::Dmm => &[("all", dmm())],
        };
        let classes = classes
            .iter()
            .map(|(name, class)| ((*name).to_owned(), on(*class, processors)))
            .collect::<BTreeMap<_, _>>();
        Lublin {
            schema: SCHEMA.to_owned(),
            kind: "lublin".to_owned(),
            seed,
            extent,
            processors,
            start_hour: 0,
            classes,
        }
    }
}

fn dmm() -> JobClass {
    let mut class = ALL;
    class.size.serial = 0.95;
    class.size.power2 = 0.025;
    class
}

fn on(mut class: JobClass, processors: u32) -> JobClass {
    let moved = f64::from(processors.max(1)).log2() - PUBLISHED_HIGH;
    let size = &mut class.size;
    size.high = (size.high + moved).max(0.0);
    size.med = (size.med + moved).max(0.0);
    size.low = size.low.min(size.med);
    class
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL_PRESETS: [Preset; 5] = [
        Preset::All,
        Preset::Batch,
        Preset::Interactive,
        Preset::Both,
        Preset::Dmm,
    ];

    #[test]
    fn every_preset_is_a_model_on_machines_of_all_sizes() {
        for preset in ALL_PRESETS {
            for processors in [1, 2, 5, 100, 128, 1 << 16] {
                let model = preset.model(processors, Extent::jobs(1), 1);
                model.check().unwrap_or_else(|e| panic!("{preset:?}: {e}"));
            }
        }
    }

    #[test]
    fn the_published_machine_has_the_published_sizes() {
        let model = Preset::Both.model(128, Extent::jobs(1), 1);
        assert_eq!(model.classes["batch"], BATCH);
        assert_eq!(model.classes["interactive"], INTERACTIVE);
    }
}
