#include "types.h"

namespace airfreight::json {

std::unique_ptr<Types> Types::Load() {
  auto types = std::make_unique<Types>();
  const Ref datetime = Ref::Own(PyImport_ImportModule("datetime"));
  const Ref decimal = Ref::Own(PyImport_ImportModule("decimal"));
  const Ref uuid = Ref::Own(PyImport_ImportModule("uuid"));
  if (!datetime || !decimal || !uuid) return nullptr;
  bool good = true;
  const auto get = [&good](const Ref& owner, const char* name) {
    Ref found = good ? Ref::Own(PyObject_GetAttrString(owner.get(), name)) : Ref();
    good = good && found;
    return found;
  };
  types->date = get(datetime, "date");
  types->datetime = get(datetime, "datetime");
  types->time = get(datetime, "time");
  types->timedelta = get(datetime, "timedelta");
  types->timezone = get(datetime, "timezone");
  types->utc = get(types->timezone, "utc");
  types->decimal = get(decimal, "Decimal");
  types->uuid = get(uuid, "UUID");
  types->unknown_safety = get(get(uuid, "SafeUUID"), "unknown");
  const auto name = [&good](const char* text) {
    Ref made = good ? Ref::Own(PyUnicode_InternFromString(text)) : Ref();
    good = good && made;
    return made;
  };
  types->days = name("days");
  types->fold = name("fold");
  types->getinitargs = name("__getinitargs__");
  types->integer = name("int");
  types->is_safe = name("is_safe");
  types->reduce = name("__reduce__");
  types->reduce_ex = name("__reduce_ex__");
  types->tzinfo = name("tzinfo");
  types->protocol = Ref::Own(PyLong_FromLong(4));
  return good && types->protocol ? std::move(types) : nullptr;
}

}  // namespace airfreight::json
