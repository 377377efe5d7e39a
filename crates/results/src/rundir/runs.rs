//! Numbers of a Parquet page as runs: of one number again and again, or of groups of eight
//! packed bit by bit ("RLE/Bit-Packing Hybrid" of Parquet's Encodings.md).

const GROUP: usize = 8;

/// The bits of the greatest number.
pub(super) fn width(most: u32) -> u32 {
    u32::BITS - most.leading_zeros()
}

/// Adds numbers of so many bits.
pub(super) fn encode<N: Copy + PartialEq + Into<u32>>(
    numbers: &[N],
    width: u32,
    out: &mut Vec<u8>,
) {
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|number| *number == first).count();
        if same >= GROUP || same == rest.len() {
            begin((same as u64) << 1, out);
            let bytes = (*first).into().to_le_bytes();
            out.extend_from_slice(&bytes[..width.div_ceil(8) as usize]);
            rest = &rest[same..];
            continue;
        }
        // Up to where a group is all one number.
        let repeats = |group: &[N]| group.iter().all(|number| *number == group[0]);
        let groups = rest
            .chunks_exact(GROUP)
            .take_while(|group| !repeats(group))
            .count();
        let packed = match groups * GROUP {
            whole if whole + GROUP > rest.len() => rest.len(),
            whole => whole,
        };
        let (own, behind) = rest.split_at(packed);
        begin((own.len().div_ceil(GROUP) as u64) << 1 | 1, out);
        own.chunks(GROUP).for_each(|group| pack(group, width, out));
        rest = behind;
    }
}

/// The header of a run, a number in groups of seven bits.
fn begin(mut header: u64, out: &mut Vec<u8>) {
    while header >= 0x80 {
        out.push(header as u8 | 0x80);
        header >>= 7;
    }
    out.push(header as u8);
}

/// A group: its numbers from the lowest bit on, filled up with zeros.
fn pack<N: Copy + Into<u32>>(group: &[N], width: u32, out: &mut Vec<u8>) {
    let end = out.len() + width as usize;
    let (mut bits, mut held) = (0_u64, 0);
    for number in group {
        bits |= u64::from((*number).into()) << held;
        held += width;
        while held >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            held -= 8;
        }
    }
    if held > 0 {
        out.push(bits as u8);
    }
    out.resize(end, 0);
}
