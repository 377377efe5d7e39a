//! The directory of the commands: links to this program, and the socket that
//! they call.

use super::users::own_uid;
use super::{COMMANDS, socket_path};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt as _, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// An installed directory with its listening socket. The socket goes away
/// with it; the links stay, and say that nobody answers.
#[derive(Debug)]
pub struct Door {
    dir: PathBuf,
    listener: UnixListener,
}

/// Why the commands could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Something else lies there.
    #[error(
        "{0}: expected a directory for the commands of one cluster alone (this file is not \
         gridrig's, and is not overwritten)"
    )]
    Foreign(PathBuf),
    /// Another emulator serves there.
    #[error("{0}: another emulator serves its commands here (expected a directory of its own)")]
    InUse(PathBuf),
    /// Somebody else could put commands of their own there.
    #[error(
        "{path}: a {kind} of uid {owner} with mode {mode:04o}; expected a directory of uid \
         {own} that neither group nor others can write to, such as `mktemp -d` makes"
    )]
    NotAlone {
        /// Where.
        path: PathBuf,
        /// What it is.
        kind: &'static str,
        /// Whose it is.
        owner: u32,
        /// Who may do what with it.
        mode: u32,
        /// Whose this process is.
        own: u32,
    },
    /// The address of a Unix socket holds no more.
    #[error("{0}: the path is too long for a Unix socket (expected at most 80 bytes)")]
    TooLong(PathBuf),
    /// The system refuses.
    #[error("{0}: {1}")]
    Io(PathBuf, #[source] io::Error),
}

/// The longest path of a directory: `sun_path` has 108 bytes.
const LONGEST: usize = 80;

/// Installs links to `program` and a socket in `dir`, which is made if it is
/// not there. Nothing that is not gridrig's is overwritten.
///
/// # Errors
/// [`InstallError`].
pub fn install(dir: &Path, program: &Path) -> Result<Door, InstallError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| InstallError::Io(path, source)
    };
    let mut builder = fs::DirBuilder::new();
    // Whatever the umask: for its owner alone to write to.
    let made = builder.recursive(true).mode(0o755).create(dir);
    made.map_err(io(dir))?;
    is_ours_alone(dir)?;
    let dir = dir.canonicalize().map_err(io(dir))?;
    if dir.as_os_str().len() > LONGEST {
        return Err(InstallError::TooLong(dir));
    }
    for above in dir.ancestors().skip(1) {
        is_safe_above(above)?;
    }
    // Look at everything before anything is changed.
    for name in COMMANDS {
        let path = dir.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() && is_ours(&path) => {}
            Ok(_) => return Err(InstallError::Foreign(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io(&path)(error)),
        }
    }
    let inner = dir.join(".gridrig");
    match fs::DirBuilder::new().mode(0o700).create(&inner) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io(&inner)(error));
        }
        _ => {}
    }
    is_ours_alone(&inner)?;
    let socket = socket_path(&dir);
    if UnixStream::connect(&socket).is_ok() {
        return Err(InstallError::InUse(dir));
    }
    // Scripts of an emulator that was killed.
    let _ = fs::remove_dir_all(spool(&dir));
    let _ = fs::remove_file(&socket);
    let listener = UnixListener::bind(&socket).map_err(io(&socket))?;
    // Only the user who runs the cluster may command it.
    let owner_only = fs::Permissions::from_mode(0o600);
    fs::set_permissions(&socket, owner_only).map_err(io(&socket))?;
    for name in COMMANDS {
        let path = dir.join(name);
        let _ = fs::remove_file(&path);
        symlink(program, &path).map_err(io(&path))?;
    }
    Ok(Door { dir, listener })
}

/// Refuses a directory that somebody else has, or can write to.
fn is_ours_alone(dir: &Path) -> Result<(), InstallError> {
    // Without the slash at its end, behind which a link would be followed.
    let path: PathBuf = dir.components().collect();
    let found = fs::symlink_metadata(&path);
    let found = found.map_err(|source| InstallError::Io(path.clone(), source))?;
    let (own, owner, mode) = (own_uid(), found.uid(), found.mode() & 0o7777);
    if found.is_dir() && owner == own && mode & 0o022 == 0 {
        return Ok(());
    }
    let kind = match (found.is_symlink(), found.is_dir()) {
        (true, _) => "link",
        (_, true) => "directory",
        _ => "file",
    };
    Err(InstallError::NotAlone {
        path,
        kind,
        owner,
        mode,
        own,
    })
}

/// Refuses a directory in which somebody else could put another in the place of ours:
/// each above it is ours or root's, and for no other to write to unless it is sticky.
fn is_safe_above(dir: &Path) -> Result<(), InstallError> {
    let path = dir.to_owned();
    let found = fs::metadata(dir).map_err(|source| InstallError::Io(path, source))?;
    let (own, owner, mode) = (own_uid(), found.uid(), found.mode() & 0o7777);
    let is_fixed = mode & 0o022 == 0 || mode & 0o1000 != 0;
    if is_fixed && (owner == own || owner == 0) {
        return Ok(());
    }
    Err(InstallError::NotAlone {
        path: dir.to_owned(),
        kind: "directory above the commands",
        owner,
        mode,
        own,
    })
}

/// Where the scripts of the jobs are.
fn spool(dir: &Path) -> PathBuf {
    dir.join(".gridrig").join("spool")
}

/// A link that an earlier gridrig made: to a program of that name, wherever
/// it was.
fn is_ours(link: &Path) -> bool {
    let target = fs::read_link(link).ok();
    let name = target.as_deref().and_then(Path::file_name);
    name.is_some_and(|name| name.to_string_lossy().starts_with("gridrig"))
}

impl Door {
    /// Where the commands are.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(super) fn listener(&self) -> io::Result<UnixListener> {
        let listener = self.listener.try_clone()?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    }

    /// A new directory below the door's for a job's script.
    pub(super) fn spool(&self) -> PathBuf {
        spool(&self.dir)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        // What is left is replaced at the next installation.
        let _ = fs::remove_file(socket_path(&self.dir));
        let _ = fs::remove_dir_all(self.spool());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("gridrig-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    fn installed(dir: &Path) -> Result<Door, InstallError> {
        install(dir, Path::new("/opt/gridrig"))
    }

    #[test]
    fn links_and_a_socket_are_made_and_replaced() {
        let dir = directory("door");
        let door = installed(&dir).unwrap();
        assert!(matches!(installed(&dir), Err(InstallError::InUse(_))));
        drop(door);
        let door = install(&dir, Path::new("/new/gridrig")).unwrap();
        for name in COMMANDS {
            let target = fs::read_link(dir.join(name)).unwrap();
            assert_eq!(target, Path::new("/new/gridrig"));
        }
        let socket = fs::metadata(socket_path(&dir)).unwrap();
        assert_eq!(socket.permissions().mode() & 0o777, 0o600);
        drop(door);
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let dir = directory("foreign");
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("squeue"), "mine").unwrap();
        assert!(matches!(installed(&dir), Err(InstallError::Foreign(_))));
        assert_eq!(fs::read_to_string(dir.join("squeue")).unwrap(), "mine");
        assert!(fs::symlink_metadata(dir.join("sbatch")).is_err());
        fs::remove_dir_all(&dir).unwrap();
        let long = directory(&"x".repeat(90));
        assert!(matches!(installed(&long), Err(InstallError::TooLong(_))));
        fs::remove_dir_all(long).unwrap();
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn refused(dir: &Path, words: &str) {
        let error = installed(dir).expect_err("not ours alone").to_string();
        assert!(error.contains(words), "{error}");
        assert!(fs::symlink_metadata(dir.join("sbatch")).is_err());
    }

    #[test]
    fn a_directory_that_others_can_write_to_is_refused() {
        let dir = directory("alone");
        let (inner, link) = (dir.join(".gridrig"), directory("link"));
        fs::create_dir_all(&inner).unwrap();
        for (path, mode, said) in [
            (&dir, 0o775, "mode 0775; expected a directory"),
            (&dir, 0o1777, "mode 1777"),
            (&inner, 0o720, ".gridrig: a directory of uid"),
            (&inner, 0o707, "mode 0707"),
        ] {
            set_mode(path, mode);
            refused(&dir, said);
            set_mode(path, 0o755);
        }
        symlink(&dir, &link).unwrap();
        refused(&link, ": a link of uid");
        refused(&link.join(""), ": a link of uid");
        fs::remove_file(&link).unwrap();
        fs::remove_dir(&inner).unwrap();
        symlink("/", &inner).unwrap();
        refused(&dir, ".gridrig: a link of uid");
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn a_directory_below_one_that_others_can_write_to_is_refused() {
        let above = directory("above");
        let dir = above.join("a/b");
        fs::create_dir_all(&dir).unwrap();
        set_mode(&above, 0o775);
        refused(&dir, "a directory above the commands of uid");
        // Where it is sticky, nobody can replace what is not theirs.
        set_mode(&above, 0o1777);
        drop(installed(&dir).unwrap());
        fs::remove_dir_all(above).unwrap();
    }

    #[test]
    fn a_directory_of_somebody_else_is_refused() {
        // Nobody but root can give a directory away, and / is root's.
        let dir = match own_uid() {
            0 => directory("theirs"),
            _ => PathBuf::from("/"),
        };
        if own_uid() == 0 {
            fs::create_dir_all(&dir).unwrap();
            std::os::unix::fs::chown(&dir, Some(4_321), None).unwrap();
        }
        refused(&dir, "expected a directory of uid");
        if own_uid() == 0 {
            fs::remove_dir_all(dir).unwrap();
        }
    }

    #[test]
    fn scripts_that_a_killed_emulator_has_left_are_removed() {
        let dir = directory("left");
        let left = spool(&dir).join("job00001");
        fs::create_dir_all(&left).unwrap();
        let door = installed(&dir).unwrap();
        assert!(!left.exists());
        drop(door);
        fs::remove_dir_all(dir).unwrap();
    }
}
