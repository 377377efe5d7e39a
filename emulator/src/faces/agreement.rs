//! WS-Agreement 1.0 over SOAP, about advance reservations that are made without a job: the
//! factory and its agreements, each at an address of its own. `docs/reservations.md` has what
//! is served.

use crate::Config;
use crate::reservations::{Caller, user};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::Response;
use axum::routing::post;
use gridrig_core::agent::LrmsAgent;
use gridrig_core::job::{Requirements, StartWindow};
use gridrig_core::reservation::{
    AdvanceReservation, Forbidden, ReservationOrder, ReservationRefusal, ReservationStep,
    ReservationView,
};
use gridrig_core::time::{SimDuration, SimTime};
use gridrig_drivers::real_time::Driven;
use gridrig_protocol::agreement::{
    self, AGREEMENT, Instant, Length, OWN, Offer, Operation, PROPERTIES, Reservation, Status,
};
use gridrig_protocol::rest::Problem;
use gridrig_protocol::soap::Fault;
use gridrig_protocol::xml::Element;
use gridrig_service::http::{Result, base_of};
use gridrig_service::soap::{self, FAULT_ACTION, Request};
use std::sync::Arc;

type App = gridrig_service::App<Config>;
type Answer = Result<ReservationView, ReservationRefusal>;

/// Where the factory is; its agreements are below it, by their names.
const PATH: &str = "/services/ws-agreement";
/// The description of both ports, with a placeholder for the address.
const TEMPLATE: &str = include_str!("../../../resources/wsdl/ws-agreement.wsdl");

pub(super) fn routes(app: &App) -> Router {
    Router::new()
        .route(PATH, post(serve).get(describe))
        .route("/services/ws-agreement/{name}", post(serve))
        .with_state(app.clone())
}

fn factory(app: &App, headers: &HeaderMap) -> String {
    base_of(headers, app.config.tls.is_some()) + PATH
}

async fn describe(State(app): State<App>, uri: Uri, headers: HeaderMap) -> Result<Response> {
    let placeholder = "http://localhost/services/ws-agreement";
    let document = || TEMPLATE.replace(placeholder, &factory(&app, &headers));
    soap::describe(&uri, document)
}

async fn serve(State(app): State<App>, uri: Uri, caller: Caller, request: Request) -> Response {
    let name = uri.path().strip_prefix(PATH).unwrap_or_default();
    let name = name.strip_prefix('/');
    let result = match request.envelope.check_understood(&[(OWN, "Initiator")]) {
        Ok(()) => answer(&app, name, caller, &request).await,
        Err(fault) => Err(fault),
    };
    let body = result.as_ref().map(|body| (&*body.namespace, &*body.name));
    let (namespace, response) = body.unwrap_or_default();
    let port = match name {
        Some(_) => "Agreement",
        None => "AgreementFactory",
    };
    let action = format!("{namespace}/{port}/{response}");
    soap::answer(&request, (&action, FAULT_ACTION), result)
}

async fn answer(
    app: &App,
    name: Option<&str>,
    caller: Caller,
    request: &Request,
) -> Result<Element, Fault> {
    let operation = Operation::read(&request.envelope.body, name.is_some())?;
    let by = user(caller, agreement::initiator(&request.envelope.header)?);
    let named: Arc<str> = name.unwrap_or_default().into();
    let step = match operation {
        Operation::Create(offer) => return create(app, *offer, by, request).await,
        Operation::Property(property) if name.is_none() => return template(app, &property),
        Operation::Property(property) => return look(app, named, &property).await,
        Operation::Modify(reservation) => {
            let (window, wanted) = (window(app, &reservation)?, reservation);
            let modify = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| {
                let view = lrms.cluster().reservation_named(&named);
                let before = view.ok_or(ReservationRefusal::NotHere)?.wanted;
                let step = ReservationStep::Make(Box::new(with(before, &wanted, window)));
                lrms.handle(now, ReservationOrder { by, step })
            };
            let view = call(app, modify).await?;
            return Ok(Element::new(OWN, "ModifyResponse").with(status(app, &view).element()));
        }
        Operation::Confirm => ReservationStep::Confirm(named),
        Operation::Terminate => ReservationStep::Cancel(named),
    };
    let is_over = matches!(step, ReservationStep::Cancel(_));
    let order = ReservationOrder { by, step };
    let tell = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| lrms.handle(now, order);
    let view = call(app, tell).await?;
    Ok(match is_over {
        true => Element::new(AGREEMENT, "TerminateResponse"),
        false => Element::new(OWN, "ConfirmResponse").with(status(app, &view).element()),
    })
}

async fn create(
    app: &App,
    offer: Offer,
    by: Option<Arc<str>>,
    request: &Request,
) -> Result<Element, Fault> {
    let context = offer.context;
    let Some(by) = by.or(context.initiator.map(Into::into)) else {
        let expected = "who wants it, as the client has no certificate";
        return invalid("Context/AgreementInitiator", "", expected);
    };
    let expected = "AgreementResponder";
    if let Some(other) = context.provider.filter(|who| who != expected) {
        return invalid("Context/ServiceProvider", &other, expected);
    }
    let reservation = offer.terms.all.term.reservation;
    let window = window(app, &reservation)?;
    let length = reservation.duration.0.as_nanos();
    let latest = reservation.latest.0.saturating_add(length);
    if let Some(until) = context.expiration.filter(|until| until.0 < latest) {
        let expected = format!("not before the latest end, {}", Instant(latest));
        return invalid("Context/ExpirationTime", &until.to_string(), &expected);
    }
    let address = format!("{}/{}", factory(app, &request.headers), offer.name);
    let blank = AdvanceReservation {
        name: offer.name.0.into(),
        processors: 1,
        requirements: Requirements::default(),
        duration: SimDuration::ZERO,
        window,
        users: vec![Arc::clone(&by)],
        confirm_within: None,
    };
    let wanted = with(blank, &reservation, window);
    let make = move |lrms: &mut Driven<LrmsAgent>, now: SimTime| {
        let before = lrms.cluster().reservation_named(&wanted.name);
        // The same offer once more, after an answer that was lost, is that agreement.
        if before.is_some_and(|before| before.wanted != wanted) {
            return None;
        }
        let step = ReservationStep::Make(Box::new(wanted));
        Some(lrms.handle(now, ReservationOrder { by: Some(by), step }))
    };
    let made = app.call(make).await;
    let made = made.map_err(|gone| agreement::refused(gone, None))?;
    let taken = || {
        let what = "there is an agreement of this name and other terms: expected another Name";
        agreement::refused(Problem::new(409, "name-taken", what), None)
    };
    let made = made.ok_or_else(taken)?;
    let view = made.map_err(|refusal| refused(app, refusal))?;
    Ok(agreement::created(&address, &status(app, &view)))
}

fn invalid<T>(element: &str, value: &str, expected: &str) -> Result<T, Fault> {
    Err(agreement::invalid(element, value, expected))
}

/// The same reservation on these terms.
fn with(
    before: AdvanceReservation,
    terms: &Reservation,
    window: StartWindow,
) -> AdvanceReservation {
    AdvanceReservation {
        processors: terms.processors,
        duration: terms.duration.0,
        window,
        confirm_within: terms.confirm_within.map(|within| within.0),
        ..before
    }
}

fn window(app: &App, terms: &Reservation) -> Result<StartWindow, Fault> {
    if terms.latest < terms.earliest {
        let (value, expected) = (terms.latest.to_string(), "not before EarliestStart");
        return invalid("Reservation/LatestStart", &value, expected);
    }
    let epoch = app.config.clock.epoch_unix_ns();
    if terms.latest.0 < epoch {
        // The time of the run has no such instant.
        let now = on_the_wall(app, app.config.clock.now());
        let problem = Problem::new(422, "not-reserved", past(terms.latest, now));
        return Err(agreement::refused(problem, None));
    }
    let at = |instant: Instant| SimTime::from_nanos(instant.0.saturating_sub(epoch));
    Ok(StartWindow {
        earliest: at(terms.earliest),
        latest: at(terms.latest),
        flexible: terms.flexible,
    })
}

fn on_the_wall(app: &App, at: SimTime) -> Instant {
    let epoch = app.config.clock.epoch_unix_ns();
    Instant(epoch.saturating_add(at.as_nanos()))
}

fn terms(app: &App, wanted: &AdvanceReservation) -> Reservation {
    Reservation {
        processors: wanted.processors,
        duration: Length(wanted.duration),
        earliest: on_the_wall(app, wanted.window.earliest),
        latest: on_the_wall(app, wanted.window.latest),
        flexible: wanted.window.flexible,
        confirm_within: wanted.confirm_within.map(Length),
    }
}

fn status(app: &App, view: &ReservationView) -> Status {
    let state = match (view.begun, view.confirmed) {
        (true, _) => "begun",
        (false, true) => "confirmed",
        (false, false) => "temporary",
    };
    Status {
        state: state.to_owned(),
        start: on_the_wall(app, view.start),
        end: on_the_wall(app, view.end),
    }
}

fn past(latest: Instant, now: Instant) -> String {
    format!(
        "element LatestStart = \"{latest}\": expected not before {now}, the present by the clock \
         of the run"
    )
}

fn refused(app: &App, refusal: ReservationRefusal) -> Fault {
    let (mut problem, mut next) = (Problem::not_reserved(refusal), None);
    let wall = |at| on_the_wall(app, at);
    match refusal {
        ReservationRefusal::NotBefore(at) => {
            let at = wall(at);
            problem.detail = format!(
                "there are no processors for it within its window; there may be from {at} on"
            );
            next = Some(at);
        }
        ReservationRefusal::Forbidden(Forbidden::Past { latest, now }) => {
            problem.detail = past(wall(latest), wall(now));
        }
        ReservationRefusal::Forbidden(Forbidden::TooFar { earliest, last }) => {
            let (earliest, last) = (wall(earliest), wall(last));
            problem.detail = format!(
                "element EarliestStart = \"{earliest}\": expected at most {last}, as far ahead as \
                 is granted here"
            );
        }
        ReservationRefusal::Forbidden(Forbidden::Endless { latest, last }) => {
            let (latest, last) = (wall(latest), wall(last));
            problem.detail = format!(
                "element LatestStart = \"{latest}\": expected at most {last}, with which it ends \
                 before the end of time"
            );
        }
        _ => {}
    }
    agreement::refused(problem, next)
}

async fn call(
    app: &App,
    call: impl FnOnce(&mut Driven<LrmsAgent>, SimTime) -> Answer + Send + 'static,
) -> Result<ReservationView, Fault> {
    let view = app.call(call).await;
    let view = view.map_err(|gone| agreement::refused(gone, None))?;
    view.map_err(|refusal| refused(app, refusal))
}

/// A property of an agreement: anybody may look.
async fn look(app: &App, name: Arc<str>, property: &str) -> Result<Element, Fault> {
    let look = move |lrms: &mut Driven<LrmsAgent>, _: SimTime| {
        let view = lrms.cluster().reservation_named(&name);
        view.ok_or(ReservationRefusal::NotHere)
    };
    let view = call(app, look).await?;
    let wanted = &view.wanted;
    let name = |kind| Element::with_text(AGREEMENT, kind, &*wanted.name);
    let user = wanted.users.first().map(|user| &**user);
    let until = on_the_wall(app, view.end);
    let element = match property {
        "Name" => name("Name"),
        "AgreementId" => name("AgreementId"),
        "Context" => agreement::context(user, &app.config.name, Some(until)),
        "Terms" => terms(app, wanted).terms(),
        "Status" => status(app, &view).element(),
        other => {
            let expected = "Name, AgreementId, Context, Terms or Status";
            return invalid("GetResourceProperty", other, expected);
        }
    };
    Ok(Element::new(PROPERTIES, "GetResourcePropertyResponse").with(element))
}

/// The one property of the factory.
fn template(app: &App, property: &str) -> Result<Element, Fault> {
    if property != "Template" {
        return invalid("GetResourceProperty", property, "Template");
    }
    let config = &app.config;
    let (now, hour) = (config.clock.now(), SimDuration::from_secs(3600));
    let earliest = on_the_wall(app, now);
    let example = Reservation {
        processors: 1,
        duration: Length(hour),
        earliest,
        latest: Instant(earliest.0.saturating_add(hour.as_nanos())),
        flexible: false,
        confirm_within: None,
    };
    let longest = config.cluster.reserving.as_ref();
    let longest = longest.and_then(|reserving| reserving.longest).map(Length);
    let most = config.cluster.resources.processors();
    let template = agreement::template(&config.name, &example, most, longest);
    Ok(Element::new(PROPERTIES, "GetResourcePropertyResponse").with(template))
}
