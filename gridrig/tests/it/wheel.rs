//! What `scripts/release` makes, and the wheel of it in an environment without Rust.

use crate::command::{expect_code, ok, root, split, stdout};
use crate::need;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// An environment of Python with the wheel and what its tests use, and nothing of Rust.
struct Installed {
    dir: PathBuf,
    release: PathBuf,
}

/// Makes the release of the program under test and installs its wheel, once.
fn installed(test: &str) -> Option<&'static Installed> {
    static INSTALLED: OnceLock<Installed> = OnceLock::new();
    let python = need::wheel(test)?;
    Some(INSTALLED.get_or_init(|| Installed::make(&python)))
}

impl Installed {
    fn make(python: &Path) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wheel");
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        let (release, venv) = (dir.join("release"), dir.join("venv"));
        let made = Command::new(root().join("scripts/release"))
            .args(["--binary", env!("CARGO_BIN_EXE_gridrig")])
            .arg(&release)
            .env("GRIDRIG_PYTHON", python)
            .output()
            .unwrap();
        expect_code(&made, 0);
        let run = |words: &[&str]| {
            let output = ok(Command::new(python).args(words).output().unwrap());
            stdout(&output)
        };
        let shown = venv.display().to_string();
        run(&["-m", "venv", "--without-pip", &shown]);
        // What the wheel needs is there already: nothing is fetched.
        let packages = run(&[
            "-c",
            "import sysconfig; print(sysconfig.get_path('purelib'))",
        ]);
        let own = find(&venv.join("lib"), "site-packages");
        fs::write(own.join("pinned.pth"), packages).unwrap();
        let wheel = find(&release, ".whl").display().to_string();
        let into = format!("{shown}/bin/python");
        run(&split(&format!(
            "-m pip --python {into} install --no-index --no-deps {wheel}"
        )));
        // What examples call; the rest of /usr/bin might have Rust.
        fs::create_dir(dir.join("tools")).unwrap();
        for tool in ["bash", "cat", "head", "seq", "sh", "sleep", "tail"] {
            let link = dir.join("tools").join(tool);
            std::os::unix::fs::symlink(Path::new("/usr/bin").join(tool), link).unwrap();
        }
        Installed { dir, release }
    }

    /// Runs words in a folder of their own, which has a copy of one of the package's.
    fn run(&self, copied: &str, name: &str, words: &[&str]) -> Output {
        let dir = self.dir.join(name);
        fs::create_dir_all(&dir).unwrap();
        for entry in fs::read_dir(root().join("python").join(copied)).unwrap() {
            let file = entry.unwrap();
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), dir.join(file.file_name())).unwrap();
            }
        }
        let [bin, tools] = ["venv/bin", "tools"].map(|it| self.dir.join(it).display().to_string());
        // Looked for in the PATH that it gets.
        Command::new(words[0])
            .args(&words[1..])
            .env_clear()
            .env("PATH", format!("{bin}:{tools}"))
            .env("HOME", &dir)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(&dir)
            .output()
            .unwrap()
    }
}

/// The one below a folder whose name ends so.
fn find(dir: &Path, end: &str) -> PathBuf {
    let entries = fs::read_dir(dir).unwrap().map(|it| it.unwrap().path());
    let mut entries: Vec<PathBuf> = entries.collect();
    entries.sort();
    let ends = |it: &&PathBuf| it.to_string_lossy().ends_with(end);
    match entries.iter().find(ends) {
        Some(found) => found.clone(),
        None => find(&entries[0], end),
    }
}

#[test]
fn a_release_is_a_static_program_a_wheel_and_what_is_in_them() {
    let Some(made) = installed("a_release_is_a_static_program_a_wheel_and_what_is_in_them") else {
        return;
    };
    let summed = Command::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&made.release)
        .output()
        .unwrap();
    expect_code(&summed, 0);
    let names = fs::read_dir(&made.release).unwrap();
    assert_eq!(stdout(&summed).lines().count() + 1, names.count());
    let version = env!("CARGO_PKG_VERSION");
    let wheel = find(&made.release, ".whl");
    let name = wheel.file_name().unwrap().to_string_lossy();
    assert!(
        name.starts_with(&format!("gridrig-{version}-py3-none-manylinux")),
        "{name}"
    );

    let text = fs::read_to_string(made.release.join("gridrig.cyclonedx.json")).unwrap();
    let bill: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(bill["metadata"]["component"]["version"], version);
    let here = root().canonicalize().unwrap();
    assert!(!text.contains(here.to_str().unwrap()), "{here:?}");
    let components = bill["components"].as_array().unwrap();
    let has = |name: &str| components.iter().any(|it| it["name"] == name);
    // Linked, only for tests, by a feature that only tests have, only written with.
    assert!(has("tokio") && has("gridrig-core"));
    assert!(!has("proptest") && !has("schemars") && !has("serde_derive"));
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    for it in components {
        let own = it["name"].as_str().unwrap().starts_with("gridrig");
        let sum = it["hashes"][0]["content"].as_str();
        assert!(own || sum.is_some_and(|sum| lock.contains(sum)), "{it}");
        assert!(it["licenses"][0]["expression"].is_string(), "{it}");
    }
}

#[test]
fn the_tests_of_the_package_pass_where_only_the_wheel_is_installed() {
    let test = "the_tests_of_the_package_pass_where_only_the_wheel_is_installed";
    let Some(made) = installed(test) else {
        return;
    };
    // Those of other packages that are there are slow to load.
    let others = ["no:schemathesis", "no:hypothesispytest", "no:anyio"];
    let others = others.map(|it| ["-p", it]);
    let words = ["python", "-m", "pytest", "-q", "--strict-markers"];
    let words = [&words[..], others.as_flattened()].concat();
    let ran = ok(made.run("tests", "tests", &words));
    let said = stdout(&ran);
    assert!(
        said.contains(" passed") && !said.contains("skipped"),
        "{said}"
    );
}

/// A test for each example, and what it says where it has worked.
macro_rules! examples {
    ($($test:ident: $words:literal, $said:literal;)*) => {
        const EXAMPLES: &[&str] = &[$($words),*];
        mod the_example_runs_from_the_wheel {
            $(#[test]
            fn $test() {
                let name = stringify!($test);
                let Some(made) = super::installed(name) else { return };
                let words: Vec<&str> = $words.split(' ').collect();
                let ran = made.run("examples", name, &words);
                super::expect_code(&ran, 0);
                let said = super::stdout(&ran);
                assert!(said.contains($said), "{said}");
            })*
        }
    };
}

examples! {
    researcher: "python researcher.py", "\nqueue-length(tie=first)  0.589";
    learner: "python learner.py", "mean wait at random";
    side_by_side: "python side_by_side.py", "4 environments side by side: ";
    test_client: "python -m pytest -q test_client.py", "2 passed";
    operator: "bash operator.sh", "The twin is exact";
    cluster: "bash cluster.sh", "runs    48 of 48 done";
}

#[test]
fn every_example_is_run_and_on_the_page() {
    let page = fs::read_to_string(root().join("docs/python.md")).unwrap();
    let files = fs::read_dir(root().join("python/examples")).unwrap();
    let files = files.map(|it| it.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.filter(|it| it.contains('.')).collect();
    let run = EXAMPLES.iter().map(|it| it.rsplit(' ').next().unwrap());
    assert_eq!(files, run.map(str::to_owned).collect());
    for file in files {
        assert!(
            page.contains(&format!("(../python/examples/{file})")),
            "{file}"
        );
    }
}
