#pragma once

/// \file
/// \brief What the XML documents of all services have in common.

#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace airfreight {

/// Parses an answer's document, which is UTF-8. Answers may begin with blanks, by which a server
/// keeps the connection alive, and Azure's with a byte order mark, which the parser skips.
bool ParseXml(std::string_view text, pugi::xml_document& document);

/// The text of a node's first child of that name; empty where there is none.
std::string ChildText(const pugi::xml_node& node, const char* name);

}  // namespace airfreight
