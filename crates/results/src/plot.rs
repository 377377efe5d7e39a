//! Pictures as SVG, and the offline pages that hold them.
//!
//! Built once for trace sheets and run reports. A [`Figure`] ([`Chart`],
//! [`Rows`], [`Strips`], [`Matrix`], [`Parallel`], [`Gantt`]) draws itself as part of a
//! [`Page`], which is one HTML file without script, network or font of its own.
//!
//! What holds for every picture:
//! - same input, same bytes: numbers are written with one fixed rule;
//! - any `f64` may come in: what cannot be drawn (not finite, not positive on
//!   a log axis) is left out, counted, and said in [`Drawing::notes`];
//! - the size of a picture is bounded, however many values it shows: lines
//!   keep first, least, greatest and last value of every two pixels, crowded
//!   points become a density, crowded boxes shares of cells, and the notes say
//!   so;
//! - names are escaped, and characters that XML forbids or that turn the
//!   direction of text are replaced;
//! - colours are classes over CSS custom properties, so that one picture
//!   serves light, dark and print.

mod annotate;
mod axis;
mod bars;
mod canvas;
mod chart;
mod cover;
mod data;
mod extent;
mod figure;
mod format;
mod frame;
mod gantt;
mod lines;
mod marks;
mod matrix;
mod page;
mod parallel;
mod rows;
mod sample;
mod series;
mod strips;
mod style;
mod table;
mod text;
mod ticks;

pub use annotate::Mark;
pub use axis::{Axis, Unit};
pub use chart::Chart;
pub use cover::Cover;
pub use figure::{Drawing, Figure};
pub use format::{integer, number, percent, seconds};
pub use gantt::Gantt;
pub use matrix::Matrix;
pub use page::{Page, Verdict};
pub use parallel::Parallel;
pub use rows::Rows;
pub use series::Series;
pub use strips::Strips;
pub use style::{Color, RULES};
pub use table::{Cell, Table};
