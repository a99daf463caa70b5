; HTML: elements with an id, scripts and style sheets.  Vue and Svelte files share it.

(element (start_tag (attribute (attribute_name) @callee (quoted_attribute_value) @name))) @definition
(element (self_closing_tag (attribute (attribute_name) @callee (quoted_attribute_value) @name))) @definition
(script_element (start_tag (tag_name) @name) (raw_text) @body) @section
(style_element (start_tag (tag_name) @name) (raw_text) @body) @section

(script_element (start_tag (attribute (attribute_name) (quoted_attribute_value)) @import))
(element (start_tag (tag_name) (attribute (attribute_name) (quoted_attribute_value))) @import)
