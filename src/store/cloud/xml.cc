#include "store/cloud/xml.h"

namespace airfreight {

bool ParseXml(std::string_view text, pugi::xml_document& document) {
  return document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
}

std::string ChildText(const pugi::xml_node& node, const char* name) {
  return node.child(name).text().get();
}

}  // namespace airfreight
