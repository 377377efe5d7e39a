//! How the targets that read text change it: by words, values, elements and lines
//! instead of by bytes.
//!
//! Most of what a reader of JSON, XML or TOML can do it does once per field: there is a
//! branch for each kind of value, for each kind of space before it, and for the end of the
//! text there. libFuzzer changes bytes, and finds these branches one at a time over many
//! millions of executions. Each change here is a whole one of the text, at any place of it.

mod forms;
mod sample;
mod shape;
mod sweep;
mod tables;
mod text;
mod tokens;
mod values;

pub use forms::{Forms, Texts, forms, forms_within, json_forms};
pub use sample::sample;

use std::sync::{Mutex, OnceLock};

/// Random numbers of one change (SplitMix64).
pub(crate) struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `many`; 0 if that is 0.
    pub(crate) fn below(&mut self, many: usize) -> usize {
        let drawn = usize::try_from(self.next() >> 32).unwrap_or(0);
        drawn.checked_rem(many).unwrap_or(0)
    }

    /// One of some.
    pub(crate) fn one<'a>(&mut self, of: &[&'a [u8]]) -> &'a [u8] {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }
}

/// The words of the format: the dictionary that `GRIDRIG_FUZZ_WORDS` names, which libFuzzer
/// has too. Each line is a word in quotes.
pub(crate) fn words() -> &'static [&'static [u8]] {
    static WORDS: OnceLock<Vec<&'static [u8]>> = OnceLock::new();
    WORDS.get_or_init(|| {
        let Ok(path) = std::env::var("GRIDRIG_FUZZ_WORDS") else {
            return Vec::new();
        };
        let text: &'static [u8] = std::fs::read(path).expect("a dictionary").leak();
        let lines = text.split(|byte| *byte == b'\n');
        let words = lines.map(|line| {
            line.get(1..line.len().saturating_sub(1))
                .unwrap_or_default()
        });
        words.filter(|word| !word.is_empty()).collect()
    })
}

/// Makes a document of a type from a seed; see [`sample`].
pub type Make = fn(u64) -> Option<String>;

/// The types that a target reads.
#[derive(Clone, Copy)]
pub struct Types {
    /// Those of JSON documents, and others.
    pub makes: &'static [Make],
    /// Those of whole documents that are gone through first.
    pub forms: &'static [Forms],
}

/// The next text of what is gone through first; `None` when that is done.
fn swept(most: usize, seed: u32, types: Types, before: usize) -> Option<Vec<u8>> {
    static SWEEP: OnceLock<Mutex<sweep::Sweep>> = OnceLock::new();
    let sweep = SWEEP.get_or_init(|| Mutex::new(sweep::Sweep::new(types, seed, before, most)));
    sweep.lock().ok()?.next(most)
}

/// Changes the first `size` bytes of `data` and says how many there are then, at most
/// `most`. Every other text is the next one of a sweep until that has ended. One of three
/// changes is one of libFuzzer's own; one of ten texts is a new document of a type instead,
/// and changed or not.
pub fn mutate(data: &mut [u8], size: usize, most: usize, seed: u32, types: Types) -> usize {
    mutate_behind(0, data, size, most, seed, types)
}

/// The same of a text behind so many bytes that say what it is.
pub fn mutate_behind(
    before: usize,
    data: &mut [u8],
    size: usize,
    most: usize,
    seed: u32,
    types: Types,
) -> usize {
    let mut chance = Chance(u64::from(seed));
    if chance.below(2) > 0
        && let Some(text) = swept(most, seed, types, before)
    {
        data[..text.len()].copy_from_slice(&text);
        return text.len();
    }
    let (data, size, most) = (&mut data[before..], size - before, most - before);
    if chance.below(3) > 0 {
        let made = match types.makes.get(chance.below(types.makes.len())) {
            Some(make) if chance.below(7) == 0 => make(chance.next()),
            _ => None,
        };
        let least = usize::from(made.is_none());
        let mut text = made.map_or_else(|| data[..size].to_vec(), String::into_bytes);
        for _ in 0..least + chance.below(3) {
            text = text::changed(&text, &mut chance);
        }
        if !text.is_empty() && text.len() <= most && text != data[..size] {
            data[..text.len()].copy_from_slice(&text);
            return before + text.len();
        }
    }
    before + libfuzzer_sys::fuzzer_mutate(data, size, most)
}

/// Changes a table behind so many bytes: three of four times values of it, else its bytes.
pub fn mutate_table(before: usize, data: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    if !seed.is_multiple_of(4)
        && let Some(table) = tables::changed(&data[before..size], u64::from(seed))
        && table.len() <= most - before
    {
        data[before..before + table.len()].copy_from_slice(&table);
        return before + table.len();
    }
    libfuzzer_sys::fuzzer_mutate(data, size, most)
}

/// Puts a part of one text into another, and says how many bytes that makes.
pub fn cross(one: &[u8], other: &[u8], out: &mut [u8], seed: u32, types: Types) -> usize {
    let mut chance = Chance(u64::from(seed));
    let text = text::crossed(one, other, &mut chance);
    if chance.below(2) > 0 && !text.is_empty() && text.len() <= out.len() {
        out[..text.len()].copy_from_slice(&text);
        return text.len();
    }
    let size = one.len().min(out.len());
    out[..size].copy_from_slice(&one[..size]);
    mutate(out, size, out.len(), seed, types)
}

/// Gives a target the changes of text beside those of bytes, and documents of the types
/// that it reads.
#[macro_export]
macro_rules! changes_text {
    ($($type:ty),* $(; $($make:expr),+)?) => {
        $crate::changes_text!(@ [$($crate::sample::<$type>,)* $($($make),+)?] []);
    };
    (toml: $($form:expr),+) => {
        $crate::changes_text!(@ [] [$($form),+]);
    };
    (@ $makes:tt $forms:tt) => {
        const TYPES: $crate::Types = $crate::Types {
            makes: &$makes,
            forms: &$forms,
        };
        libfuzzer_sys::fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
            $crate::cross(one, other, out, seed, TYPES)
        });
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8],
                                      size: usize,
                                      max_size: usize,
                                      seed: u32| {
            $crate::mutate(data, size, max_size, seed, TYPES)
        });
    };
}
