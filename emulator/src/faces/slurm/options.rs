//! Options as Slurm's commands read them: GNU `getopt_long`, with its words
//! for mistakes, since scripts compare them.

mod table;

/// Whether an option takes an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    /// Only as `--name=value`.
    MaybeValue,
}

/// One option: its long name, its letter and what it takes.
#[derive(Clone, Copy, Debug)]
struct Opt {
    long: &'static str,
    short: Option<char>,
    takes: Takes,
}

/// The options of a command, from its row in the table.
fn options(row: &'static str) -> Vec<Opt> {
    let option = |word: &'static str| {
        let (name, takes) = match (word.strip_suffix("=?"), word.strip_suffix('=')) {
            (Some(name), _) => (name, Takes::MaybeValue),
            (None, Some(name)) => (name, Takes::Value),
            (None, None) => (word, Takes::Nothing),
        };
        let (long, short) = name.split_once(',').unwrap_or((name, ""));
        let short = short.chars().next();
        Opt { long, short, takes }
    };
    row.split_ascii_whitespace().map(option).collect()
}

/// What a command line says: options by their long name (or letter) in the
/// order given, then the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub options: Vec<(&'static str, Option<String>)>,
    pub rest: Vec<String>,
}

impl Parsed {
    /// The last value given for an option.
    pub fn last(&self, name: &str) -> Option<&str> {
        let (_, value) = self.options.iter().rev().find(|(long, _)| *long == name)?;
        Some(value.as_deref().unwrap_or(""))
    }

    /// The number from 1 to `most` that an option is given, or what is wrong with it.
    pub fn number(&self, name: &str, most: u32) -> Result<Option<u32>> {
        let Some(text) = self.last(name) else {
            return Ok(None);
        };
        let number: Option<u32> = text.parse().ok();
        let number = number.filter(|number| (1..=most).contains(number));
        let wrong = || format!("Invalid numeric value \"{text}\" for --{name}.");
        number.map(Some).ok_or_else(wrong)
    }

    /// Whether the option was given.
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|(long, _)| *long == name)
    }
}

/// What is read of a line, or what stderr is to show.
type Result<T, E = String> = std::result::Result<T, E>;

/// Reads `args` by the options of the program. The error is what stderr is to
/// show: it begins with what the program was called as, and ends with its name.
pub(super) fn parse(name: &str, called: &str, args: &[String]) -> Result<Parsed> {
    let row = table::OPTIONS.iter().find(|(known, _)| *known == name);
    let table = row.map_or_else(Vec::new, |(_, row)| options(row));
    parse_by(&table, name, called, args)
}

fn parse_by(table: &[Opt], name: &str, called: &str, args: &[String]) -> Result<Parsed> {
    let mut parsed = Parsed::default();
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            parsed.rest.extend(words.cloned());
            break;
        }
        let said = if let Some(long) = word.strip_prefix("--") {
            read_long(table, long, &mut words, &mut parsed)
        } else if word.len() > 1 && word.starts_with('-') {
            read_short(table, &word[1..], &mut words, &mut parsed)
        } else {
            parsed.rest.push(word.clone());
            // What follows the script, or the program, is its own.
            if ["sbatch", "srun"].contains(&name) {
                parsed.rest.extend(words.cloned());
                break;
            }
            Ok(())
        };
        said.map_err(|what| {
            format!("{called}: {what}\nTry \"{name} --help\" for more information\n")
        })?;
    }
    Ok(parsed)
}

type Words<'a> = std::slice::Iter<'a, String>;

fn read_long(table: &[Opt], word: &str, words: &mut Words<'_>, parsed: &mut Parsed) -> Result<()> {
    let (name, given) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (word, None),
    };
    let starts = table.iter().filter(|opt| opt.long.starts_with(name));
    let starts: Vec<&Opt> = starts.collect();
    let exact = starts.iter().find(|opt| opt.long == name);
    let opt = match (exact, starts.as_slice()) {
        (Some(opt), _) | (None, [opt]) => opt,
        (None, []) => return Err(format!("unrecognized option '--{name}'")),
        (None, all) => {
            let all: String = all.iter().map(|opt| format!(" '--{}'", opt.long)).collect();
            return Err(format!(
                "option '--{name}' is ambiguous; possibilities:{all}"
            ));
        }
    };
    let value = match (opt.takes, given) {
        (Takes::Nothing, Some(_)) => {
            return Err(format!("option '--{}' doesn't allow an argument", opt.long));
        }
        (Takes::Value, None) => {
            let next = words.next().cloned();
            Some(next.ok_or_else(|| format!("option '--{}' requires an argument", opt.long))?)
        }
        (_, given) => given,
    };
    parsed.options.push((opt.long, value));
    Ok(())
}

fn read_short(
    table: &[Opt],
    letters: &str,
    words: &mut Words<'_>,
    parsed: &mut Parsed,
) -> Result<()> {
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        let opt = table
            .iter()
            .find(|opt| opt.short == Some(letter))
            .ok_or_else(|| format!("invalid option -- '{letter}'"))?;
        let attached = rest.as_str();
        let value = match opt.takes {
            Takes::Nothing => {
                parsed.options.push((opt.long, None));
                continue;
            }
            _ if !attached.is_empty() => Some(attached.to_owned()),
            Takes::MaybeValue => None,
            Takes::Value => {
                let next = words.next().cloned();
                Some(next.ok_or_else(|| format!("option requires an argument -- '{letter}'"))?)
            }
        };
        parsed.options.push((opt.long, value));
        return Ok(());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "no-kill,k no-requeue ntasks,n= hold,H nice=?";

    fn read(name: &str, words: &str) -> Result<Parsed, String> {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        parse_by(&options(TABLE), name, name, &words)
    }

    #[test]
    fn options_are_read_as_getopt_reads_them() {
        let parsed = read("sbatch", "-Hn3 --ntasks 4 --nt=5 --nice script -n 9").unwrap();
        let ntasks = parsed.options.iter().filter(|(long, _)| *long == "ntasks");
        let ntasks: Vec<_> = ntasks.filter_map(|(_, value)| value.as_deref()).collect();
        assert_eq!(ntasks, ["3", "4", "5"]);
        assert_eq!(parsed.last("ntasks"), Some("5"));
        assert!(parsed.has("hold") && parsed.last("nice") == Some(""));
        assert_eq!(parsed.rest, ["script", "-n", "9"]);
        let parsed = read("squeue", "a -n 9 b").unwrap();
        assert_eq!(parsed.rest, ["a", "b"]);
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_getopt() {
        let said = |words: &str| {
            let text = read("sbatch", words).unwrap_err();
            let (first, rest) = text.split_once('\n').unwrap();
            assert_eq!(rest, "Try \"sbatch --help\" for more information\n");
            first.strip_prefix("sbatch: ").unwrap().to_owned()
        };
        assert_eq!(said("--foo"), "unrecognized option '--foo'");
        assert_eq!(said("-z"), "invalid option -- 'z'");
        assert_eq!(said("-n"), "option requires an argument -- 'n'");
        assert_eq!(said("--ntasks"), "option '--ntasks' requires an argument");
        assert_eq!(
            said("--hold=1"),
            "option '--hold' doesn't allow an argument"
        );
        let ambiguous = "option '--no' is ambiguous; possibilities: '--no-kill' '--no-requeue'";
        assert_eq!(said("--no"), ambiguous);
    }
}
