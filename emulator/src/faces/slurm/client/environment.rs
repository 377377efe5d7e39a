//! The caller's environment, in one piece.

use super::ROOM;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;

/// `NAME=value` of all variables, each with a zero after it.
///
/// The kernel has it so. The standard library copies each name and each value
/// into a block of its own, which is most of what a call would ask the
/// allocator for; that is how it is done where the kernel does not tell.
pub(super) fn block() -> Vec<u8> {
    let mut block = Vec::with_capacity(ROOM);
    let told =
        std::fs::File::open("/proc/self/environ").and_then(|mut file| file.read_to_end(&mut block));
    if told.is_err() {
        block.clear();
        for (name, value) in std::env::vars_os() {
            block.extend(name.as_bytes());
            block.push(b'=');
            block.extend(value.as_bytes());
            block.push(0);
        }
    }
    block
}

/// The variables in it, without those that are no text.
pub(super) fn variables(block: &[u8]) -> Vec<(&str, &str)> {
    let ends = block.iter().filter(|byte| **byte == 0).count();
    let mut variables = Vec::with_capacity(ends);
    variables.extend(block.split(|byte| *byte == 0).filter_map(|variable| {
        let variable = std::str::from_utf8(variable).ok()?;
        // A name may begin with `=`, and has at least one letter.
        let equals = variable.bytes().skip(1).position(|byte| byte == b'=')? + 1;
        Some((&variable[..equals], &variable[equals + 1..]))
    }));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_of_the_kernel_holds_what_the_library_tells() {
        let block = block();
        let mut read: Vec<(String, String)> = variables(&block)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let mut told: Vec<(String, String)> = std::env::vars().collect();
        read.sort();
        told.sort();
        assert_eq!(read, told);
        assert!(!read.is_empty());
    }

    #[test]
    fn what_is_no_variable_or_no_text_is_left_out() {
        let block = b"A=1\0B=\0no variable\0=C=x=y\0D=\xff\0\0E=last";
        let wanted = [("A", "1"), ("B", ""), ("=C", "x=y"), ("E", "last")];
        assert_eq!(variables(block), wanted);
    }
}
