//! The token of the dashboard: the one that the user gives, or one that is made
//! once and kept where only that user can read it.

use crate::words::hex;
use anyhow::{Context as _, bail, ensure};
use rustix::process::geteuid;
use std::fmt::Display;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, symlink_metadata};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// A token that is shorter could be guessed.
const SHORTEST: usize = 16;
/// No file of a token is larger.
const LARGEST: u64 = 4096;

/// The token to ask for: `given`, or else the one that is kept, which is made
/// if there is none. Answers the file besides, unless the token was given.
///
/// # Errors
/// When it is too short or odd, or cannot be kept.
pub fn token(given: Option<&str>) -> anyhow::Result<(String, Option<PathBuf>)> {
    if let Some(token) = given.filter(|token| !token.is_empty()) {
        return Ok((fitting(token, "GRIDRIG_TOKEN")?, None));
    }
    let folder = state_home()
        .context("the token cannot be kept: expected XDG_STATE_HOME or HOME, or a GRIDRIG_TOKEN")?;
    let folder = folder.join("gridrig");
    let file = folder.join("dashboard-token");
    Ok((kept(&folder, &file)?, Some(file)))
}

/// Where a user's programs keep what outlives them (XDG base directories): a
/// relative path counts as none.
fn state_home() -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))
}

fn fitting(token: &str, source: impl Display) -> anyhow::Result<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    if token.len() < SHORTEST || !token.chars().all(fits) {
        bail!("{source}: expected at least {SHORTEST} letters, digits or signs out of \"-._~\"");
    }
    Ok(token.to_owned())
}

/// Nobody else can put anything into a folder that is ours alone: what is seen
/// in it stays what it is.
fn kept(folder: &Path, file: &Path) -> anyhow::Result<String> {
    let failed = |path: &Path| {
        let path = path.display();
        format!("{path}: the token cannot be kept there (GRIDRIG_TOKEN needs no file)")
    };
    let refuse_others = |path: &Path, is: fn(&Metadata) -> bool, what: &str| {
        let found = symlink_metadata(path).with_context(|| failed(path))?;
        let ours = found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0;
        ensure!(is(&found) && ours, "{}: expected a {what}", path.display());
        anyhow::Ok(())
    };
    let mut folders = DirBuilder::new();
    let made = folders.recursive(true).mode(0o700).create(folder);
    made.with_context(|| failed(folder))?;
    let what = "directory that is yours and has mode 700";
    refuse_others(folder, Metadata::is_dir, what)?;
    if symlink_metadata(file).is_err_and(|e| e.kind() == io::ErrorKind::NotFound) {
        make(file).with_context(|| failed(file))?;
    }
    let what = "file that is yours and has mode 600";
    refuse_others(file, Metadata::is_file, what)?;
    let mut text = String::new();
    File::open(file)
        .and_then(|open| open.take(LARGEST).read_to_string(&mut text))
        .with_context(|| failed(file))?;
    fitting(text.trim_end(), file.display())
}

/// A new token under this name, whole or not at all. Where another process was
/// first, its token is the one.
fn make(file: &Path) -> io::Result<()> {
    let mut bytes = [0; 32];
    // 256 random bits from the system; no named stream may be behind a secret.
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let partial = file.with_extension(format!("{}.partial", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut open = options.open(&partial)?;
    let written = writeln!(open, "{}", hex(bytes))
        .and_then(|()| open.sync_all())
        .and_then(|()| std::fs::hard_link(&partial, file));
    std::fs::remove_file(&partial)?;
    match written {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_token_is_made_once_and_kept_where_only_its_user_reads_it() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("state/gridrig");
        let file = folder.join("dashboard-token");
        let token = kept(&folder, &file).unwrap();
        assert_eq!(token.len(), 64);
        assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
        assert_eq!(kept(&folder, &file).unwrap(), token);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn processes_that_start_together_agree_on_one_token() {
        let home = tempfile::tempdir().unwrap();
        let (one, other) = (home.path().join("one"), home.path().join("other"));
        make(&one).unwrap();
        let first = std::fs::read(&one).unwrap();
        std::fs::write(&other, "").unwrap();
        make(&one).unwrap();
        assert_eq!(std::fs::read(&one).unwrap(), first);
    }

    #[test]
    fn what_is_not_ours_alone_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("gridrig");
        let file = folder.join("dashboard-token");
        let token = kept(&folder, &file).unwrap();
        let refused = || kept(&folder, &file).unwrap_err().to_string();
        set_mode(&file, 0o640);
        assert!(
            refused().ends_with("dashboard-token: expected a file that is yours and has mode 600")
        );
        set_mode(&file, 0o600);
        set_mode(&folder, 0o770);
        assert!(
            refused().ends_with("gridrig: expected a directory that is yours and has mode 700")
        );
        set_mode(&folder, 0o700);
        let elsewhere = home.path().join("elsewhere");
        std::fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert!(refused().contains("expected a file"), "a link");
        std::fs::remove_file(&file).unwrap();
        symlink(home.path().join("nowhere"), &file).unwrap();
        assert!(refused().contains("expected a file"), "a link to nothing");
        assert!(!home.path().join("nowhere").exists());
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        set_mode(&file, 0o700);
        assert!(refused().contains("expected a file"), "a directory");
        std::fs::remove_dir(&file).unwrap();
        std::fs::rename(&elsewhere, &file).unwrap();
        assert_eq!(kept(&folder, &file).unwrap(), token);
        std::fs::write(&file, "short\n").unwrap();
        assert!(refused().contains("dashboard-token: expected at least 16"));
    }

    #[test]
    fn a_short_or_odd_token_is_refused() {
        for given in ["short", "0123456789abcde;", "0123456789abc def"] {
            let refused = token(Some(given)).unwrap_err().to_string();
            assert!(refused.starts_with("GRIDRIG_TOKEN: expected"), "{refused}");
        }
        assert_eq!(token(Some("0123456789abcdef")).unwrap().1, None);
    }
}
